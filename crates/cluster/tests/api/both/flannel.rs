//! flannel's VNI and port are changed and restored, with fake flannel daemons that
//! maintain pods and annotations.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use casement_cluster::{
    ApplyOutcome, ChangeMethod, ClusterChange, ClusterClient, FlannelFacts, ObservedCluster,
    RestoreOutcome,
};
use casement_net::flannel::{Backend, NetConf};
use casement_run::cluster_api::ClusterApi as _;
use casement_run::kube::KubeApi;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, Pod, ServiceAccount};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};

use super::changes::daemon_set;
use super::permissions::{least_privileged, settled};
use crate::server::Server;

const SPACE: &str = "kube-flannel";
const MAP: &str = "kube-flannel-cfg";
const SET: &str = "kube-flannel-ds";
/// Fake nodes: a lab's own has no capacity for pods.
const NODES: [&str; 2] = ["flannel-first", "flannel-second"];
const NET_CONF: &str =
    "{\n  \"Network\": \"10.244.0.0/16\",\n  \"Backend\": {\n    \"Type\": \"vxlan\"\n  }\n}\n";
const CNI_CONF: &str = "{\"name\": \"cbr0\"}";

/// flannel's manifest, and daemons on two nodes that read their configuration only at
/// start.
struct Flannel {
    client: Client,
    daemons: tokio::task::JoinHandle<()>,
}

impl Flannel {
    async fn install(server: &Server) -> Self {
        let client = server.client().await;
        let installed = Self {
            daemons: tokio::spawn(daemons(client.clone(), server.is_embedded())),
            client,
        };
        let params = PostParams::default();
        let spaces: Api<Namespace> = Api::all(installed.client.clone());
        let labels = json!({"pod-security.kubernetes.io/enforce": "privileged"});
        let space = object(json!({"metadata": {"name": SPACE, "labels": labels}}));
        let _ = spaces.create(&params, &space).await;
        let accounts: Api<ServiceAccount> = Api::namespaced(installed.client.clone(), SPACE);
        let _ = accounts
            .create(&params, &object(json!({"metadata": {"name": "flannel"}})))
            .await;
        installed.make_nodes().await;
        let data = json!({"net-conf.json": NET_CONF, "cni-conf.json": CNI_CONF});
        let map = object(json!({"metadata": {"name": MAP}, "data": data}));
        installed.maps().create(&params, &map).await.unwrap();
        let set = object(set());
        installed.sets().create(&params, &set).await.unwrap();
        installed.until_all_have(1).await;
        installed
    }

    async fn make_nodes(&self) {
        let resources = json!({"cpu": "2", "memory": "4Gi", "pods": "110"});
        let node = |name: &str| {
            object(json!({
            "metadata": {"name": name, "labels": {"kubernetes.io/os": "linux"}},
            "status": {
                "capacity": resources, "allocatable": resources,
                "nodeInfo": {
                    "operatingSystem": "linux", "architecture": "amd64", "osImage": "",
                    "kernelVersion": "", "containerRuntimeVersion": "", "kubeletVersion": "",
                    "kubeProxyVersion": "", "machineID": "", "systemUUID": "", "bootID": "",
                },
            },
            }))
        };
        let nodes: Api<Node> = Api::all(self.client.clone());
        for name in NODES {
            let made = nodes.create(&PostParams::default(), &node(name)).await;
            made.unwrap();
        }
    }

    fn maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), SPACE)
    }

    fn sets(&self) -> Api<DaemonSet> {
        Api::namespaced(self.client.clone(), SPACE)
    }

    fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), SPACE)
    }

    /// The VNI that each node's daemon reports.
    async fn vnis(&self) -> BTreeMap<String, u64> {
        let nodes: Api<Node> = Api::all(self.client.clone());
        let list = nodes.list(&ListParams::default()).await.unwrap();
        let said = list.iter().filter_map(|node| {
            let key = "flannel.alpha.coreos.com/backend-data";
            let data = node.annotations().get(key)?;
            let data: Value = serde_json::from_str(data).ok()?;
            Some((node.name_any(), data["VNI"].as_u64()?))
        });
        said.collect()
    }

    async fn until_all_have(&self, vni: u64) {
        for _ in 0..300 {
            let numbers = self.vnis().await;
            if numbers.len() == 2 && numbers.values().all(|found| *found == vni) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("VNI {vni} never on all nodes: {:?}", self.vnis().await);
    }

    async fn uids(&self) -> Vec<String> {
        let list = self.pods().list(&ListParams::default()).await.unwrap();
        list.iter().filter_map(|pod| pod.uid()).collect()
    }

    /// All objects, without fields that the server writes.
    async fn contents(&self) -> Value {
        let map = self.maps().get(MAP).await.unwrap();
        let set = self.sets().get(SET).await.unwrap();
        json!([content(json!(map)), content(json!(set))])
    }

    async fn edit(&self, data: Value) {
        let patch = Patch::Merge(json!({"data": data}));
        let params = PatchParams {
            field_manager: Some("somebody".to_owned()),
            ..PatchParams::default()
        };
        self.maps().patch(MAP, &params, &patch).await.unwrap();
    }

    async fn uninstall(self) {
        let params = DeleteParams::default();
        self.sets().delete(SET, &params).await.unwrap();
        self.maps().delete(MAP, &params).await.unwrap();
        for _ in 0..300 {
            let pods = self.pods().list(&ListParams::default()).await.unwrap();
            if pods.items.is_empty() {
                break;
            }
            for pod in pods {
                let at_once = DeleteParams::default().grace_period(0);
                let _ = self.pods().delete(&pod.name_any(), &at_once).await;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        self.daemons.abort();
        let nodes: Api<Node> = Api::all(self.client.clone());
        for name in NODES {
            nodes.delete(name, &params).await.unwrap();
        }
    }
}

fn object<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn set() -> Value {
    let terms = json!([{"matchExpressions": [
        {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]},
    ]}]);
    let required = json!({"nodeSelectorTerms": terms});
    let labels = json!({"app": "flannel", "tier": "node"});
    json!({
        "metadata": {"name": SET},
        "spec": {
            "selector": {"matchLabels": {"app": "flannel"}},
            "template": {"metadata": {"labels": labels}, "spec": pod(required)},
        },
    })
}

fn pod(required: Value) -> Value {
    let affinity = json!({"requiredDuringSchedulingIgnoredDuringExecution": required});
    json!({
        "affinity": {"nodeAffinity": affinity},
        "hostNetwork": true,
        "tolerations": [{"operator": "Exists"}],
        "serviceAccountName": "flannel",
        "containers": [{"name": "kube-flannel", "image": "example.invalid/flannel"}],
    })
}

fn lease(vni: u64) -> Value {
    let data = json!({"VNI": vni, "VtepMAC": "02:00:00:00:00:01"});
    json!({
        "flannel.alpha.coreos.com/backend-type": "vxlan",
        "flannel.alpha.coreos.com/backend-data": data.to_string(),
        "flannel.alpha.coreos.com/kube-subnet-manager": "true",
        "flannel.alpha.coreos.com/public-ip": "198.18.0.11",
    })
}

/// Fakes kubelets and daemons: removes terminating pods; a new pod reads the
/// configuration, annotates its Node with the VNI, and becomes ready.
async fn daemons(client: Client, makes_pods: bool) {
    let pods: Api<Pod> = Api::namespaced(client.clone(), SPACE);
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), SPACE);
    let sets: Api<DaemonSet> = Api::namespaced(client.clone(), SPACE);
    let nodes: Api<Node> = Api::all(client);
    loop {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let Ok(list) = pods.list(&ListParams::default()).await else {
            continue;
        };
        if makes_pods && sets.get_opt(SET).await.unwrap().is_some() {
            make_pods(&pods, &list.items).await;
        }
        for pod in list {
            let name = pod.name_any();
            if pod.metadata.deletion_timestamp.is_some() {
                let at_once = DeleteParams::default().grace_period(0);
                let _ = pods.delete(&name, &at_once).await;
                continue;
            }
            let conditions = pod
                .status
                .iter()
                .flat_map(|it| it.conditions.iter().flatten());
            let ready = conditions
                .clone()
                .any(|it| it.type_ == "Ready" && it.status == "True");
            let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
            let (false, Some(node)) = (ready, node) else {
                continue;
            };
            let Ok(Some(map)) = maps.get_opt(MAP).await else {
                continue;
            };
            let text = map.data.unwrap()["net-conf.json"].clone();
            let conf: Value = serde_json::from_str(&text).unwrap();
            let vni = conf["Backend"]["VNI"].as_u64().unwrap_or(1);
            let params = PatchParams::default();
            let patch = Patch::Merge(json!({"metadata": {"annotations": lease(vni)}}));
            let _ = nodes.patch(&node, &params, &patch).await;
            let conditions = json!([{"type": "Ready", "status": "True"}]);
            let status = json!({"status": {"phase": "Running", "conditions": conditions}});
            let _ = pods
                .patch_status(&name, &params, &Patch::Merge(status))
                .await;
        }
    }
}

/// Fakes the DaemonSet controller.
async fn make_pods(pods: &Api<Pod>, there: &[Pod]) {
    for node in NODES {
        let on_it = |pod: &&Pod| {
            let place = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
            place == Some(node) && pod.metadata.deletion_timestamp.is_none()
        };
        if there.iter().any(|pod| on_it(&pod)) {
            continue;
        }
        let mut spec = pod(json!({"nodeSelectorTerms": [{"matchFields": [
            {"key": "metadata.name", "operator": "In", "values": [node]},
        ]}]}));
        spec["nodeName"] = json!(node);
        let labels = json!({"app": "flannel", "tier": "node"});
        let metadata = json!({"generateName": "kube-flannel-ds-", "labels": labels});
        let pod = object(json!({"metadata": metadata, "spec": spec}));
        let _ = pods.create(&PostParams::default(), &pod).await;
    }
}

fn content(mut object: Value) -> Value {
    let metadata = object["metadata"].as_object_mut().unwrap();
    for key in ["resourceVersion", "generation", "managedFields"] {
        metadata.remove(key);
    }
    // The generation, by its old name.
    if let Some(notes) = metadata
        .get_mut("annotations")
        .and_then(Value::as_object_mut)
    {
        notes.remove("deprecated.daemonset.template.generation");
    }
    object.as_object_mut().unwrap().remove("status");
    object
}

fn expected() -> NetConf {
    let backend = Backend::vxlan(4096, 4789, "flannel.4096", None);
    NetConf::new("10.244.0.0/16".parse().unwrap(), backend)
}

async fn observe(cluster: &ClusterClient) -> (ObservedCluster, FlannelFacts) {
    let facts = cluster.observe().await.unwrap();
    let flannel = cluster.flannel(&facts).await.unwrap();
    (facts, flannel.expect("flannel is installed"))
}

async fn planned(cluster: &ClusterClient) -> Vec<ClusterChange> {
    let (facts, flannel) = observe(cluster).await;
    flannel.changes(&expected(), &facts.nodes)
}

async fn apply_all(cluster: &ClusterClient, changes: &[ClusterChange]) {
    for change in changes {
        let done = cluster.apply(change).await.unwrap();
        assert_eq!(done, ApplyOutcome::Changed, "{}", change.object);
    }
}

/// Restores everything like `reset --cluster`.
async fn restore_all(cluster: &ClusterClient) -> Vec<RestoreOutcome> {
    let restored = cluster.restore().await.unwrap();
    if cluster.is_restart_pending().await.unwrap() {
        let (facts, flannel) = observe(cluster).await;
        let restart = flannel.restart_with_current_config(&facts.nodes).unwrap();
        apply_all(cluster, &[restart]).await;
    }
    restored.into_iter().map(|field| field.outcome).collect()
}

/// `apply` and `reset --cluster`, as a user with only the documented roles.
pub async fn an_overlay_change_is_planned_applied_checked_and_restored(server: &Server) {
    let _state = server.state().await;
    let flannel = Flannel::install(server).await;
    let cluster = least_privileged(server).await;
    settled(&cluster, 0).await;
    let kube = KubeApi {
        cluster: cluster.clone(),
        run: "overlay".to_owned(),
    };
    let (spec, builds) = (spec(), BTreeSet::from([17763, 20348]));
    kube.observe_permitted(&spec).await.unwrap();
    let bare = daemon_set(server, "overlay-bare", Value::Null).await;
    let set_before = content(json!(bare.get("overlay-bare").await.unwrap()));
    let before = flannel.contents().await;
    let pods_before = flannel.uids().await;

    let planned = async || {
        let observed = cluster.observe().await.unwrap();
        kube.changes(&spec, &builds, &observed).await.unwrap()
    };
    let changes = planned().await;
    let names: Vec<String> = changes.iter().map(|it| it.object.to_string()).collect();
    assert_eq!(
        names,
        [
            "DaemonSet cluster-tests/overlay-bare",
            "RuntimeClass windows-2019",
            "RuntimeClass windows-2022",
            "ClusterRoleBinding casement:node-proxier:overlay01",
            "ClusterRole casement:overlay",
            "ClusterRoleBinding casement:overlay:overlay01",
            "ConfigMap kube-flannel/kube-flannel-cfg",
            "DaemonSet kube-flannel/kube-flannel-ds",
        ]
    );
    let (now, outage) = changes.split_at(6);
    assert!(now.iter().all(|change| change.outage.is_none()));
    assert!(outage.iter().all(|change| change.outage.is_some()));
    apply_all(&cluster, &changes).await;

    assert_eq!(
        flannel.vnis().await.into_values().collect::<Vec<_>>(),
        [4096, 4096]
    );
    let pods = flannel.uids().await;
    assert!(pods_before.iter().all(|uid| !pods.contains(uid)));
    let map = flannel.maps().get(MAP).await.unwrap().data.unwrap();
    let conf: Value = serde_json::from_str(&map["net-conf.json"]).unwrap();
    assert_eq!(
        conf["Backend"],
        json!({"Type": "vxlan", "VNI": 4096, "Port": 4789})
    );
    assert_eq!(map["cni-conf.json"], CNI_CONF, "the Linux name stays");
    assert_eq!(planned().await, []);

    let back = kube.restore_changes().await.unwrap();
    assert!(back.iter().any(|change| change.outage.is_some()));
    kube.remove_node("Overlay01").await.unwrap();
    let restored = kube.restore(&|_| {}).await.unwrap();
    let how: Vec<&RestoreOutcome> = restored.iter().map(|field| &field.outcome).collect();
    assert_eq!(how, [&RestoreOutcome::Restored, &RestoreOutcome::Restored]);
    assert_eq!(flannel.contents().await, before);
    let set_after = content(json!(bare.get("overlay-bare").await.unwrap()));
    assert_eq!(set_after, set_before);
    assert_eq!(
        flannel.vnis().await.into_values().collect::<Vec<_>>(),
        [1, 1]
    );
    let again = planned().await;
    assert_eq!(
        again.len(),
        changes.len(),
        "all casement resources are removed"
    );
    let state: Api<ConfigMap> = Api::namespaced(server.client().await, "kube-system");
    assert!(state.get_opt("casement-state").await.unwrap().is_none());
    bare.delete("overlay-bare", &DeleteParams::default())
        .await
        .unwrap();
    flannel.uninstall().await;
}

fn spec() -> casement_spec::Cluster {
    let text = "
apiVersion: casement.dev/v1alpha1
kind: Cluster
metadata: {name: shop}
spec:
  kubernetes: {version: 1.36.3, podCidr: 10.244.0.0/16, serviceCidr: 10.96.0.0/16}
  existing: {kubeconfig: ./admin.conf}
  network: {mode: flannel-overlay}
  hosts:
    - {name: overlay01, address: 198.18.0.99, os: windows-2022}
";
    let loaded = casement_source::load_bytes("cluster.yaml", text.as_bytes());
    loaded.cluster.expect("the file is valid")
}

pub async fn an_edit_of_another_key_survives_and_a_conflicting_one_is_reported(server: &Server) {
    let _state = server.state().await;
    let cluster = server.cluster().await;
    let flannel = Flannel::install(server).await;
    // Another key: the edit is kept, and the overlay is restored.
    apply_all(&cluster, &planned(&cluster).await).await;
    flannel.edit(json!({"theirs.json": "{}"})).await;
    assert_eq!(restore_all(&cluster).await, [RestoreOutcome::Restored]);
    let data = flannel.maps().get(MAP).await.unwrap().data.unwrap();
    assert_eq!(data["net-conf.json"], NET_CONF);
    assert_eq!(data["theirs.json"], "{}");

    // The same key: the edit is kept and reported.
    apply_all(&cluster, &planned(&cluster).await).await;
    let theirs = "{\"Network\":\"10.244.0.0/16\",\"Backend\":{\"Type\":\"vxlan\",\"VNI\":4097,\"Port\":4789}}";
    flannel.edit(json!({"net-conf.json": theirs})).await;
    let outcomes = restore_all(&cluster).await;
    let [RestoreOutcome::Kept { found, .. }] = outcomes.as_slice() else {
        panic!("{outcomes:?}");
    };
    assert_eq!(found, &Some(json!(theirs)));
    let data = flannel.maps().get(MAP).await.unwrap().data.unwrap();
    assert_eq!(data["net-conf.json"], theirs);
    flannel.uninstall().await;
}

pub async fn an_edit_after_planning_stops_the_change(server: &Server) {
    let _state = server.state().await;
    let cluster = server.cluster().await;
    let flannel = Flannel::install(server).await;
    let changes = planned(&cluster).await;
    let theirs = NET_CONF.replace("vxlan", "host-gw");
    flannel.edit(json!({"net-conf.json": theirs})).await;
    let error = cluster.apply(&changes[0]).await.unwrap_err();
    assert_eq!(error.code(), "CAS-API-010");
    let data = flannel.maps().get(MAP).await.unwrap().data.unwrap();
    assert_eq!(data["net-conf.json"], theirs);
    assert!(cluster.restore().await.unwrap().is_empty());
    assert_eq!(planned(&cluster).await, []);
    flannel.uninstall().await;
}

pub async fn an_interrupted_run_resumes_with_the_restart(server: &Server) {
    let _state = server.state().await;
    let cluster = server.cluster().await;
    let flannel = Flannel::install(server).await;
    let changes = planned(&cluster).await;
    apply_all(&cluster, &changes[..1]).await;
    assert!(cluster.is_restart_pending().await.unwrap());
    let rest = planned(&cluster).await;
    let [restart] = rest.as_slice() else {
        panic!("{rest:?}");
    };
    assert_eq!(restart.method, ChangeMethod::Restart { vni: 4096 });
    apply_all(&cluster, &rest).await;
    assert_eq!(planned(&cluster).await, []);
    assert_eq!(restore_all(&cluster).await, [RestoreOutcome::Restored]);
    flannel.uninstall().await;
}
