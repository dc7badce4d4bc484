//! Calico's settings, read from its custom resources.

use std::collections::BTreeSet;
use std::time::Duration;

use casement_cluster::CalicoFacts;
use casement_run::RunError;
use casement_run::kube::KubeApi;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value, json};

use super::changes::daemon_set;
use crate::server::Server;

const GROUP: &str = "crd.projectcalico.org";
const KINDS: [(&str, &str); 3] = [
    ("IPPool", "ippools"),
    ("IPAMConfig", "ipamconfigs"),
    ("FelixConfiguration", "felixconfigurations"),
];

fn api(client: &Client, (kind, plural): (&str, &str)) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk(GROUP, "v1", kind);
    let resource = ApiResource::from_gvk_with_plural(&kind, plural);
    Api::all_with(client.clone(), &resource)
}

async fn put(client: &Client, kind: (&str, &str), name: &str, spec: Value) {
    let object = json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": kind.0,
        "metadata": {"name": name}, "spec": spec,
    });
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    let api = api(client, kind);
    // A new CRD is served after a moment.
    for _ in 0..100 {
        match api.create(&PostParams::default(), &object).await {
            Ok(_) => return,
            Err(kube::Error::Api(status)) if status.code == 404 => {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
    panic!("{} is not served", kind.0);
}

/// The embedded server has these kinds from the start.
async fn define(server: &Server, client: &Client) {
    if server.is_embedded() {
        return;
    }
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for (kind, plural) in KINDS {
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let definition = json!({
            "metadata": {"name": format!("{plural}.{GROUP}")},
            "spec": {
                "group": GROUP, "scope": "Cluster",
                "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()},
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": schema},
                }],
            },
        });
        let definition = serde_json::from_value(definition).unwrap();
        let params = PostParams::default();
        definitions.create(&params, &definition).await.unwrap();
    }
}

async fn remove_definitions(server: &Server, client: &Client) {
    if server.is_embedded() {
        return;
    }
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for (_, plural) in KINDS {
        let name = format!("{plural}.{GROUP}");
        let params = DeleteParams::default();
        definitions.delete(&name, &params).await.unwrap();
        while definitions.get_opt(&name).await.unwrap().is_some() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

fn file() -> casement_spec::Cluster {
    let text = "apiVersion: casement.dev/v1alpha1\nkind: Cluster\nmetadata: {name: shop}\n\
                spec:\n  kubernetes: {version: 1.36.3, podCidr: 10.244.0.0/16, \
                serviceCidr: 10.96.0.0/16}\n  existing: {kubeconfig: ./admin.conf}\n  \
                network: {mode: calico-vxlan}\n  windows: {components: host-process}\n  \
                hosts:\n    - {name: win1, address: 10.3.0.4, os: windows-2022}\n";
    let loaded = casement_source::load_bytes("cluster.yaml", text.as_bytes());
    loaded.cluster.expect("the file is valid")
}

async fn codes(kube: &KubeApi) -> Vec<String> {
    let observed = kube.cluster.observe().await.unwrap();
    match kube.changes(&file(), &BTreeSet::new(), &observed).await {
        Ok(changes) => {
            assert!(
                !changes.is_empty(),
                "Calico for Windows is missing from the plan"
            );
            Vec::new()
        }
        Err(RunError::PreflightFailed(problems)) => {
            let codes = problems.into_iter();
            codes.map(|problem| problem.code.into_owned()).collect()
        }
        Err(error) => panic!("{error}"),
    }
}

pub async fn calico_settings_are_checked_before_anything_changes(server: &Server) {
    let _state = server.state().await;
    let client = server.client().await;
    let linux = json!({"kubernetes.io/os": "linux"});
    let sets = daemon_set(server, "calico-node", linux).await;
    let kube = KubeApi {
        cluster: server.cluster().await,
        run: "calico".to_owned(),
    };
    let nothing = CalicoFacts {
        pools: Vec::new(),
        strict_affinity: false,
        vni: 4096,
        port: 4789,
    };
    let found = kube.cluster.calico().await.unwrap();
    assert_eq!(found, nothing, "defaults without custom resources");
    assert_eq!(codes(&kube).await, ["CAS-FIT-014", "CAS-FIT-012"]);

    define(server, &client).await;
    let [pool, affinity, felix] = KINDS;
    let spec = json!({
        "cidr": "10.244.0.0/16", "ipipMode": "Always", "natOutgoing": true,
        "nodeSelector": "all()",
    });
    put(&client, pool, "default-ipv4-ippool", spec).await;
    let off = json!({"cidr": "10.9.0.0/16", "disabled": true});
    put(&client, pool, "unused", off).await;
    put(
        &client,
        affinity,
        "default",
        json!({"strictAffinity": false}),
    )
    .await;
    put(&client, felix, "default", json!({"vxlanPort": 8472})).await;
    let expected = ["CAS-FIT-011", "CAS-FIT-012", "CAS-FIT-013"];
    assert_eq!(codes(&kube).await, expected);

    for (kind, name, spec) in [
        (
            pool,
            "default-ipv4-ippool",
            json!({"ipipMode": "Never", "vxlanMode": "Always"}),
        ),
        (affinity, "default", json!({"strictAffinity": true})),
        (felix, "default", json!({"vxlanPort": 4789})),
    ] {
        let patch = Patch::Merge(json!({ "spec": spec }));
        let api = api(&client, kind);
        let params = PatchParams::default();
        api.patch(name, &params, &patch).await.unwrap();
    }
    assert_eq!(codes(&kube).await, [] as [&str; 0]);
    let params = DeleteParams::default();
    sets.delete("calico-node", &params).await.unwrap();
    remove_definitions(server, &client).await;
}
