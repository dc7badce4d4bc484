//! A node that comes, becomes Ready, is cordoned and goes.

use std::collections::BTreeMap;

use casement_cluster::{Cordon, NodeState};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;

use crate::server::Server;

pub async fn a_watch_tells_the_reason_and_every_change(server: &Server) {
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
    while state.pod_cidr.is_none() {
        state = watch.next().await.unwrap();
    }
    assert!(cluster.delete_node("WATCHED01").await.unwrap());
    while state.exists {
        state = watch.next().await.unwrap();
    }
    assert!(!cluster.delete_node("watched01").await.unwrap());
}

pub async fn a_cordon_by_somebody_else_stays(server: &Server) {
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
