//! A node that is created, becomes Ready, is cordoned and deleted.

use std::collections::BTreeMap;
use std::time::Duration;

use casement_cluster::{Cordon, Drained, NodeState, NodeTaint};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::json;

use crate::server::Server;

pub async fn a_watch_reports_the_reason_and_every_change(server: &Server) {
    let cluster = server.cluster().await;
    let nodes: Api<Node> = Api::all(server.client().await);
    let mut watch = cluster.watch_node("Watched01");
    assert_eq!(watch.next().await.unwrap(), NodeState::default());

    let node = json!({
        "metadata": {"name": "watched01"},
        "spec": {"taints": [{"key": "os", "value": "windows", "effect": "NoSchedule"}]},
    });
    let node = serde_json::from_value(node).unwrap();
    nodes.create(&PostParams::default(), &node).await.unwrap();
    let mut state = watch.next().await.unwrap();
    assert!(state.exists && !state.ready);
    assert_eq!(state.reason, "NoStatus");
    assert!(state.taints.contains(&"os=windows:NoSchedule".to_owned()));

    for (status, reason) in [("False", "KubeletNotReady"), ("True", "KubeletReady")] {
        let now = "2026-01-01T00:00:00Z";
        let status = json!({"status": {"conditions": [{
            "type": "Ready", "status": status, "reason": reason, "message": "cni plugin",
            "lastHeartbeatTime": now, "lastTransitionTime": now,
        }]}});
        let params = PatchParams::default();
        let patch = Patch::Merge(status);
        nodes
            .patch_status("watched01", &params, &patch)
            .await
            .unwrap();
        while state.reason != reason {
            state = watch.next().await.unwrap();
        }
    }
    assert!(state.ready);
    while state.pod_cidrs.is_empty() {
        state = watch.next().await.unwrap();
    }
    assert!(cluster.delete_node("WATCHED01").await.unwrap());
    while state.exists {
        state = watch.next().await.unwrap();
    }
    assert!(!cluster.delete_node("watched01").await.unwrap());
}

pub async fn a_foreign_cordon_is_kept(server: &Server) {
    let cluster = server.cluster().await;
    let nodes: Api<Node> = Api::all(server.client().await);
    let node = json!({"metadata": {"name": "cordoned01"}});
    let node = serde_json::from_value(node).unwrap();
    nodes.create(&PostParams::default(), &node).await.unwrap();
    assert_eq!(cluster.cordon("Cordoned01").await.unwrap(), Cordon::Changed);
    assert_eq!(cluster.cordon("cordoned01").await.unwrap(), Cordon::Already);
    assert_eq!(
        cluster.uncordon("cordoned01").await.unwrap(),
        Cordon::Changed
    );
    assert_eq!(
        cluster.uncordon("cordoned01").await.unwrap(),
        Cordon::Already
    );
    nodes.cordon("cordoned01").await.unwrap();
    assert_eq!(
        cluster.cordon("cordoned01").await.unwrap(),
        Cordon::ByOthers
    );
    assert_eq!(
        cluster.uncordon("cordoned01").await.unwrap(),
        Cordon::ByOthers
    );
    assert!(
        cluster
            .node("cordoned01")
            .await
            .unwrap()
            .unwrap()
            .unschedulable
    );

    let labels = BTreeMap::from([("shop.example/tier".to_owned(), "web".to_owned())]);
    assert!(cluster.label_node("cordoned01", &labels).await.unwrap());
    assert!(!cluster.label_node("cordoned01", &labels).await.unwrap());
    assert!(cluster.annotate_node("cordoned01", &labels).await.unwrap());
    assert!(!cluster.annotate_node("cordoned01", &labels).await.unwrap());
    assert!(cluster.delete_node("cordoned01").await.unwrap());
}

pub async fn a_taint_is_added_and_others_are_kept(server: &Server) {
    let cluster = server.cluster().await;
    let nodes: Api<Node> = Api::all(server.client().await);
    let theirs = json!([{"key": "zone", "value": "a", "effect": "PreferNoSchedule"}]);
    let node = json!({"metadata": {"name": "tainted01"}, "spec": {"taints": theirs}});
    let node = serde_json::from_value(node).unwrap();
    nodes.create(&PostParams::default(), &node).await.unwrap();
    let ours = [NodeTaint {
        key: "os".to_owned(),
        value: Some("windows".to_owned()),
        effect: "NoSchedule".to_owned(),
        time_added: None,
    }];
    assert!(cluster.taint_node("Tainted01", &ours).await.unwrap());
    assert!(!cluster.taint_node("tainted01", &ours).await.unwrap());
    let taints = cluster.node("tainted01").await.unwrap().unwrap().taints;
    for taint in ["zone=a:PreferNoSchedule", "os=windows:NoSchedule"] {
        assert!(taints.iter().any(|found| found == taint), "{taints:?}");
    }
    assert!(cluster.delete_node("tainted01").await.unwrap());
    assert!(!cluster.taint_node("tainted01", &ours).await.unwrap());
}

pub async fn drain_evicts_all_but_daemon_set_pods(server: &Server) {
    let _state = server.state().await;
    let cluster = server.cluster().await;
    let client = server.client().await;
    let nodes: Api<Node> = Api::all(client.clone());
    let now = k8s_openapi::jiff::Timestamp::now().to_string();
    let condition = json!({
        "type": "Ready", "status": "True", "reason": "KubeletReady", "message": "",
        "lastHeartbeatTime": now, "lastTransitionTime": now,
    });
    let resources = json!({"cpu": "2", "memory": "4Gi", "pods": "110"});
    let node = json!({
        "metadata": {"name": "drained01"},
        "status": {
            "conditions": [condition], "capacity": resources, "allocatable": resources,
        },
    });
    let node = serde_json::from_value(node).unwrap();
    nodes.create(&PostParams::default(), &node).await.unwrap();
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    let sets = super::changes::daemon_set(server, "drained", serde_json::Value::Null).await;
    let set = sets.get("drained").await.unwrap();
    let in_sets: Api<Pod> = Api::namespaced(client, "cluster-tests");
    let owner = json!([{
        "apiVersion": "apps/v1", "kind": "DaemonSet", "name": "drained", "controller": true,
        "uid": set.metadata.uid.unwrap(),
    }]);
    let spec = json!({
        "nodeName": "drained01", "tolerations": [{"operator": "Exists"}],
        "terminationGracePeriodSeconds": 5,
        "containers": [{"name": "c", "image": "example.invalid/c"}],
    });
    let made = |name: &str, metadata: serde_json::Value| {
        let mut metadata = metadata;
        metadata["name"] = json!(name);
        serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap()
    };
    let params = PostParams::default();
    pods.create(&params, &made("drained-web", json!({})))
        .await
        .unwrap();
    if server.is_embedded() {
        // In place of the DaemonSet controller.
        let metadata = json!({"ownerReferences": owner, "labels": {"app": "drained"}});
        let pod = made("drained-daemon", metadata);
        in_sets.create(&params, &pod).await.unwrap();
    }
    let here = ListParams::default().fields("spec.nodeName=drained01");
    let daemon = loop {
        let list = in_sets.list(&here).await.unwrap();
        if let Some(pod) = list.items.into_iter().next() {
            break pod.metadata.name.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };

    // In place of a kubelet: removes pods that are terminating.
    let kubelet = tokio::spawn({
        let pods = pods.clone();
        async move {
            loop {
                let pod = pods.get_opt("drained-web").await.ok().flatten();
                if pod.is_some_and(|pod| pod.metadata.deletion_timestamp.is_some()) {
                    let at_once = DeleteParams::default().grace_period(0);
                    let _ = pods.delete("drained-web", &at_once).await;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    });
    let limit = Duration::from_secs(60);
    let drained = cluster.drain("Drained01", limit, &|_| {}).await.unwrap();
    kubelet.abort();
    assert_eq!(drained, Drained::Gone(1));
    assert!(pods.get_opt("drained-web").await.unwrap().is_none());
    let node = cluster.node("drained01").await.unwrap().unwrap();
    assert!(node.unschedulable);
    let left = in_sets.get_opt(&daemon).await.unwrap();
    assert!(left.is_some_and(|pod| pod.metadata.deletion_timestamp.is_none()));
    assert!(cluster.delete_node("drained01").await.unwrap());
    let gone = cluster.drain("drained01", limit, &|_| {}).await.unwrap();
    assert_eq!(gone, Drained::NoNode);
    let at_once = DeleteParams::default().grace_period(0);
    sets.delete("drained", &DeleteParams::default())
        .await
        .unwrap();
    let _ = in_sets.delete(&daemon, &at_once).await;
}
