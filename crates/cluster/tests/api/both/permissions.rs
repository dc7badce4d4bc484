//! The documented roles are sufficient, and a missing permission is reported.

use std::collections::BTreeMap;
use std::time::Duration;

use casement_cluster::{
    AccessError, ApplyOutcome, BootstrapTokenRequest, ClusterClient, ClusterError, Expose,
    RestoreOutcome, Sample, node_proxier_binding, runtime_class,
};
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;

use super::changes::{daemon_set, planned};
use crate::server::Server;

const NAME: &str = "casement-permissions-test";

/// Applies permissions.yaml under another name and authenticates as a user with it.
pub async fn least_privileged(server: &Server) -> ClusterClient {
    let client = server.client().await;
    let text = include_str!("../../../permissions.yaml");
    let params = PatchParams::apply("test").force();
    for part in text.split("\n---\n") {
        let mut role: serde_json::Value = serde_saphyr::from_str(part).unwrap();
        role["metadata"]["name"] = json!(NAME);
        let subject = json!([{"kind": "ServiceAccount", "name": NAME, "namespace": "default"}]);
        let group = "rbac.authorization.k8s.io";
        let kind = role["kind"].clone();
        let namespace = role["metadata"]["namespace"].as_str().map(str::to_owned);
        let binding = json!({
            "apiVersion": role["apiVersion"], "kind": format!("{}Binding", kind.as_str().unwrap()),
            "metadata": {"name": NAME}, "subjects": subject,
            "roleRef": {"apiGroup": group, "kind": kind, "name": NAME},
        });
        let (role, binding) = (Patch::Apply(role), Patch::Apply(binding));
        match namespace {
            Some(namespace) => {
                let spaces: Api<Namespace> = Api::all(client.clone());
                let space = json!({"metadata": {"name": namespace}});
                let space = serde_json::from_value(space).unwrap();
                let _ = spaces.create(&PostParams::default(), &space).await;
                let roles: Api<Role> = Api::namespaced(client.clone(), &namespace);
                roles.patch(NAME, &params, &role).await.unwrap();
                let bindings: Api<RoleBinding> = Api::namespaced(client.clone(), &namespace);
                bindings.patch(NAME, &params, &binding).await.unwrap();
            }
            None => {
                let roles: Api<ClusterRole> = Api::all(client.clone());
                roles.patch(NAME, &params, &role).await.unwrap();
                let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
                bindings.patch(NAME, &params, &binding).await.unwrap();
            }
        }
    }
    let accounts: Api<ServiceAccount> = Api::default_namespaced(client);
    let account = serde_json::from_value(json!({"metadata": {"name": NAME}})).unwrap();
    let _ = accounts.create(&PostParams::default(), &account).await;
    let request = TokenRequest::default();
    let params = PostParams::default();
    let token = accounts.create_token_request(NAME, &params, &request).await;
    let token = token.unwrap().status.unwrap().token;
    let config = server.config_with_token(&token).await;
    let url = config.cluster_url.to_string();
    ClusterClient::with_client(Client::try_from(config).unwrap(), url)
        .await
        .unwrap()
}

/// The authorizer sees new roles after a moment.
pub async fn settled(cluster: &ClusterClient, missing: usize) -> Option<ClusterError> {
    for _ in 0..100 {
        let mut permissions = casement_cluster::PERMISSIONS.to_vec();
        permissions.extend(casement_cluster::flannel_permissions("kube-flannel"));
        permissions.extend(casement_cluster::host_process_permissions());
        permissions.extend(casement_cluster::calico_permissions());
        permissions.extend(casement_cluster::sample_permissions("default"));
        let error = cluster.check_permission_list(&permissions).await.err();
        let count = match &error {
            Some(ClusterError::Access(AccessError::MissingPermissions { missing })) => {
                missing.len()
            }
            Some(error) => panic!("{error}"),
            None => 0,
        };
        if count == missing {
            return error;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the number of missing permissions never became {missing}");
}

pub async fn documented_roles_suffice_and_a_missing_permission_is_reported(server: &Server) {
    let _state = server.state().await;
    let cluster = least_privileged(server).await;
    settled(&cluster, 0).await;
    everything(server, &cluster).await;

    let roles: Api<ClusterRole> = Api::all(server.client().await);
    let mut role = roles.get(NAME).await.unwrap();
    let rule = &mut role.rules.as_mut().unwrap()[0];
    rule.verbs.retain(|verb| verb != "watch");
    roles
        .replace(NAME, &PostParams::default(), &role)
        .await
        .unwrap();
    let error = settled(&cluster, 1).await.unwrap();
    assert_eq!(error.code(), "CAS-API-007");
    let details = error.problem().detail;
    assert_eq!(details, [("missing".to_owned(), "watch nodes".to_owned())]);
}

/// Everything that casement does, as that user.
async fn everything(server: &Server, cluster: &ClusterClient) {
    let request = BootstrapTokenRequest {
        host: "permissions01".to_owned(),
        run: "permissions".to_owned(),
        lifetime: Duration::from_secs(60),
    };
    cluster.create_token(&request).await.unwrap();
    let left = cluster
        .delete_leftover_tokens("x", &["permissions01"])
        .await;
    assert_eq!(left.unwrap().len(), 1);
    cluster.watch_node("lin1").next().await.unwrap();
    cluster.cordon("lin1").await.unwrap();
    cluster.uncordon("lin1").await.unwrap();
    let labels = BTreeMap::from([("permissions.example/x".to_owned(), "y".to_owned())]);
    cluster.label_node("lin1", &labels).await.unwrap();
    cluster.delete_node("permissions-none").await.unwrap();
    let drained = cluster
        .drain("permissions-none", Duration::ZERO, &|_| {})
        .await;
    assert_eq!(drained.unwrap(), casement_cluster::Drained::NoNode);
    for manifest in [
        node_proxier_binding("permissions01"),
        runtime_class("windows-permissions", "10.0.20348"),
    ] {
        let change = cluster.plan_owned(&manifest).await.unwrap().unwrap();
        cluster.apply(&change).await.unwrap();
        let removal = cluster.plan_removal(&change.object).await.unwrap();
        cluster.apply(&removal.unwrap()).await.unwrap();
    }
    cluster.calico().await.unwrap();
    as_sample(cluster).await;
    as_host_process(cluster).await;
    let sets = daemon_set(server, "permissions", serde_json::Value::Null).await;
    let change = planned(cluster, "permissions").await.unwrap();
    let done = cluster.apply(&change).await.unwrap();
    assert_eq!(done, ApplyOutcome::Changed);
    let restored = cluster.restore().await.unwrap();
    assert_eq!(restored[0].outcome, RestoreOutcome::Restored);
    sets.delete("permissions", &DeleteParams::default())
        .await
        .unwrap();
}

async fn as_sample(cluster: &ClusterClient) {
    let facts = cluster.observe().await.unwrap();
    let mut sample = Sample::of(&facts, "default", Expose::ClusterIp);
    sample.windows = vec![20348];
    cluster.deploy_sample(&sample).await.unwrap();
    cluster.sample_status("default").await.unwrap();
    cluster.delete_sample("default").await.unwrap();
}

/// Every object of `components: host-process`, with strict validation.
async fn as_host_process(cluster: &ClusterClient) {
    let names = "overrides: {sigwindowstools/flannel: r.example/flannel:v1, \
                 sigwindowstools/kube-proxy: r.example/kube-proxy:v1}";
    for (mode, images) in [("calico-vxlan", ""), ("flannel-overlay", names)] {
        let text = format!(
            "apiVersion: casement.dev/v1alpha1\nkind: Cluster\nmetadata: {{name: shop}}\n\
             spec:\n  kubernetes: {{version: 1.36.3}}\n  existing: {{kubeconfig: ./admin.conf}}\n  \
             network: {{mode: {mode}}}\n  windows: {{components: host-process}}\n  \
             images: {{{images}}}\n  hosts:\n    \
             - {{name: win1, address: 10.3.0.4, os: windows-2022}}\n"
        );
        let loaded = casement_source::load_bytes("cluster.yaml", text.as_bytes());
        let spec = loaded.cluster.expect("the file is valid");
        let facts = casement_plan::ClusterFacts::of_spec(&spec);
        for manifest in casement_plan::host_process(&spec, &facts) {
            let change = cluster.plan_owned(&manifest).await.unwrap().unwrap();
            let done = cluster.apply(&change).await.unwrap();
            assert_eq!(done, ApplyOutcome::Changed, "{}", change.object);
            let again = cluster.plan_owned(&manifest).await.unwrap();
            assert_eq!(again, None, "{} is in sync the second time", change.object);
        }
    }
    for object in casement_cluster::host_process_refs() {
        let removal = cluster.plan_removal(&object).await.unwrap();
        cluster.apply(&removal.unwrap()).await.unwrap();
    }
}
