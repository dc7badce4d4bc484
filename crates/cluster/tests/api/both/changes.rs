//! Changes of foreign and owned objects, and restoring them.

use casement_cluster::{
    ApplyOutcome, ClusterChange, ClusterClient, RestoreOutcome, node_proxier_binding,
    node_proxier_binding_ref, runtime_class, runtime_class_ref,
};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::server::Server;

pub async fn daemon_set(server: &Server, name: &str, selector: Value) -> Api<DaemonSet> {
    let client = server.client().await;
    let spaces: Api<Namespace> = Api::all(client.clone());
    let space = serde_json::from_value(json!({"metadata": {"name": "cluster-tests"}})).unwrap();
    let _ = spaces.create(&PostParams::default(), &space).await;
    let sets: Api<DaemonSet> = Api::namespaced(client, "cluster-tests");
    let _ = sets.delete(name, &DeleteParams::default()).await;
    while sets.get_opt(name).await.unwrap().is_some() {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let set = serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {
                    "nodeSelector": selector,
                    "tolerations": [{"operator": "Exists"}],
                    "containers": [{"name": "c", "image": "example.invalid/c"}],
                },
            },
        },
    }))
    .unwrap();
    sets.create(&PostParams::default(), &set).await.unwrap();
    sets
}

pub async fn planned(cluster: &ClusterClient, name: &str) -> Option<ClusterChange> {
    let changes = cluster.observe().await.unwrap().os_selector_changes();
    let mut changes = changes.into_iter();
    changes.find(|change| change.object.name == name)
}

async fn selector(sets: &Api<DaemonSet>, name: &str) -> Value {
    let set = sets.get(name).await.unwrap();
    let pod = set.spec.unwrap().template.spec.unwrap();
    serde_json::to_value(pod.node_selector).unwrap()
}

async fn edit(sets: &Api<DaemonSet>, name: &str, selector: Value) {
    let patch = json!({"spec": {"template": {"spec": {"nodeSelector": selector}}}});
    let params = PatchParams::default();
    sets.patch(name, &params, &Patch::Merge(patch))
        .await
        .unwrap();
}

pub async fn a_selector_is_added_and_restored(server: &Server) {
    let _state = server.state().await;
    let cluster = server.cluster().await;
    for (name, before) in [("bare", Value::Null), ("zoned", json!({"zone": "a"}))] {
        let sets = daemon_set(server, name, before.clone()).await;
        let change = planned(&cluster, name).await.unwrap();
        let outcome = cluster.apply(&change).await.unwrap();
        assert_eq!(outcome, ApplyOutcome::Changed);
        let outcome = cluster.apply(&change).await.unwrap();
        assert_eq!(outcome, ApplyOutcome::Already);
        assert_eq!(planned(&cluster, name).await, None);
        assert_eq!(selector(&sets, name).await["kubernetes.io/os"], "linux");
        let back = cluster.plan_restore().await.unwrap();
        assert_eq!(back.len(), 1);
        let restored = cluster.restore().await.unwrap();
        assert_eq!(restored[0].outcome, RestoreOutcome::Restored);
        assert_eq!(selector(&sets, name).await, before);
        let state: Api<ConfigMap> = Api::namespaced(server.client().await, "kube-system");
        assert!(state.get_opt("casement-state").await.unwrap().is_none());
        sets.delete(name, &DeleteParams::default()).await.unwrap();
    }
}

pub async fn an_edit_after_the_plan_is_a_conflict(server: &Server) {
    let _state = server.state().await;
    let cluster = server.cluster().await;
    let sets = daemon_set(server, "edited", Value::Null).await;
    let change = planned(&cluster, "edited").await.unwrap();
    edit(&sets, "edited", json!({"kubernetes.io/os": "plan9"})).await;
    let error = cluster.apply(&change).await.unwrap_err();
    assert_eq!(error.code(), "CAS-API-010");
    let details: Vec<_> = error
        .problem()
        .detail
        .into_iter()
        .map(|(_, value)| value)
        .collect();
    assert!(details.contains(&"\"plan9\"".to_owned()), "{details:?}");
    assert_eq!(
        selector(&sets, "edited").await,
        json!({"kubernetes.io/os": "plan9"})
    );
    assert!(cluster.restore().await.unwrap().is_empty());
    sets.delete("edited", &DeleteParams::default())
        .await
        .unwrap();
}

pub async fn an_edit_after_the_change_survives_the_restore(server: &Server) {
    let _state = server.state().await;
    let cluster = server.cluster().await;
    let sets = daemon_set(server, "kept", Value::Null).await;
    let gone = daemon_set(server, "gone", Value::Null).await;
    for name in ["kept", "gone"] {
        let change = planned(&cluster, name).await.unwrap();
        cluster.apply(&change).await.unwrap();
    }
    edit(&sets, "kept", json!({"kubernetes.io/os": "plan9"})).await;
    gone.delete("gone", &DeleteParams::default()).await.unwrap();
    while gone.get_opt("gone").await.unwrap().is_some() {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let mut restored = cluster.restore().await.unwrap();
    restored.sort_by(|one, other| one.object.cmp(&other.object));
    assert_eq!(restored[0].outcome, RestoreOutcome::Gone);
    assert_eq!(
        restored[1].outcome,
        RestoreOutcome::Kept {
            ours: Some(json!("linux")),
            found: Some(json!("plan9")),
        }
    );
    assert_eq!(
        selector(&sets, "kept").await,
        json!({"kubernetes.io/os": "plan9"})
    );
    sets.delete("kept", &DeleteParams::default()).await.unwrap();
}

pub async fn owned_objects_are_created_and_deleted(server: &Server) {
    let cluster = server.cluster().await;
    for (manifest, object) in [
        (
            node_proxier_binding("Owned01"),
            node_proxier_binding_ref("Owned01"),
        ),
        (
            runtime_class("windows-owned", "10.0.20348"),
            runtime_class_ref("windows-owned"),
        ),
    ] {
        let change = cluster.plan_owned(&manifest).await.unwrap().unwrap();
        assert_eq!(change.before, None);
        cluster.apply(&change).await.unwrap();
        assert_eq!(cluster.plan_owned(&manifest).await.unwrap(), None);
        let removal = cluster.plan_removal(&object).await.unwrap().unwrap();
        assert_eq!(
            cluster.apply(&removal).await.unwrap(),
            ApplyOutcome::Changed
        );
        assert_eq!(cluster.plan_removal(&object).await.unwrap(), None);
        assert_eq!(
            cluster.apply(&removal).await.unwrap(),
            ApplyOutcome::Already
        );
    }
}

pub async fn a_foreign_object_is_never_taken_over(server: &Server) {
    use k8s_openapi::api::node::v1::RuntimeClass;
    let cluster = server.cluster().await;
    let classes: Api<RuntimeClass> = Api::all(server.client().await);
    let name = "windows-foreign";
    let theirs = json!({"metadata": {"name": name}, "handler": "theirs"});
    let theirs = serde_json::from_value(theirs).unwrap();
    classes
        .create(&PostParams::default(), &theirs)
        .await
        .unwrap();
    let manifest = runtime_class(name, "10.0.20348");
    let error = cluster.plan_owned(&manifest).await.unwrap_err();
    assert_eq!(error.code(), "CAS-API-011");
    assert_eq!(
        cluster
            .plan_removal(&runtime_class_ref(name))
            .await
            .unwrap(),
        None
    );
    classes
        .delete(name, &DeleteParams::default())
        .await
        .unwrap();

    let mut same = manifest.clone();
    same["metadata"] = json!({"name": name});
    let same = serde_json::from_value(same).unwrap();
    classes.create(&PostParams::default(), &same).await.unwrap();
    assert_eq!(cluster.plan_owned(&manifest).await.unwrap(), None);
    classes
        .delete(name, &DeleteParams::default())
        .await
        .unwrap();
}

pub async fn a_patch_test_for_null_means_absent(server: &Server) {
    let _state = server.state().await;
    let sets = daemon_set(server, "tested", json!({"zone": "a"})).await;
    let test = |path: &str| {
        let list = json!([{"op": "test", "path": path, "value": null}]);
        Patch::Json::<()>(serde_json::from_value(list).unwrap())
    };
    let params = PatchParams::default();
    let absent = test("/spec/template/spec/nodeSelector/absent");
    sets.patch("tested", &params, &absent).await.unwrap();
    let present = test("/spec/template/spec/nodeSelector/zone");
    let error = sets.patch("tested", &params, &present).await.unwrap_err();
    assert!(matches!(error, kube::Error::Api(status) if status.code == 422));
    sets.delete("tested", &DeleteParams::default())
        .await
        .unwrap();
}
