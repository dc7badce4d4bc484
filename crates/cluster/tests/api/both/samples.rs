//! The sample workload is deployed, unchanged the second time, and deleted.

use casement_cluster::{ApplyOutcome, Expose, Sample};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Namespace, Node, Service};
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use serde_json::json;

use crate::server::Server;

const SPACE: &str = "sample-own";

pub async fn a_sample_is_deployed_once_and_fully_deleted(server: &Server) {
    let cluster = server.cluster().await;
    let nodes: Api<Node> = Api::all(server.client().await);
    let labels = json!({
        "kubernetes.io/os": "windows", "node.kubernetes.io/windows-build": "10.0.26100",
    });
    let node = json!({"metadata": {"name": "sampled01", "labels": labels}});
    let node = serde_json::from_value(node).unwrap();
    nodes.create(&PostParams::default(), &node).await.unwrap();

    let facts = cluster.observe().await.unwrap();
    let spaces: Api<Namespace> = Api::all(server.client().await);
    let space = serde_json::from_value(json!({"metadata": {"name": SPACE}})).unwrap();
    let _ = spaces.create(&PostParams::default(), &space).await;
    let mut sample = Sample::of(&facts, SPACE, Expose::NodePort);
    assert_eq!(
        (sample.windows.as_slice(), sample.linux),
        ([26100].as_slice(), true)
    );
    sample.replicas = 2;
    let made = cluster.deploy_sample(&sample).await.unwrap();
    assert_eq!(made.len(), 4);
    assert!(made.iter().all(|(_, done)| *done == ApplyOutcome::Changed));
    let again = cluster.deploy_sample(&sample).await.unwrap();
    for (object, done) in &again {
        assert_eq!(*done, ApplyOutcome::Already, "{object}");
    }
    sample.replicas = 1;
    let fewer = cluster.deploy_sample(&sample).await.unwrap();
    let changed = fewer
        .iter()
        .filter(|(_, done)| *done == ApplyOutcome::Changed);
    assert_eq!(changed.count(), 2);

    let status = cluster.sample_status(SPACE).await.unwrap();
    let names: Vec<&str> = status.parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(
        names,
        ["casement-sample-linux", "casement-sample-windows-2025"]
    );
    assert!(!status.is_ready() && status.parts.iter().all(|part| !part.reason.is_empty()));
    let service = &status.services[1];
    assert_eq!(
        (service.name.as_str(), service.kind.as_str()),
        ("casement-sample-windows", "NodePort")
    );
    assert!(service.node_port.is_some() && service.cluster_ip.starts_with("10.96."));

    let deleted = cluster.delete_sample(SPACE).await.unwrap();
    assert_eq!(deleted.len(), 4);
    assert!(cluster.delete_sample(SPACE).await.unwrap().is_empty());
    nodes
        .delete("sampled01", &DeleteParams::default())
        .await
        .unwrap();
}

pub async fn a_foreign_service_is_not_taken_over(server: &Server) {
    let cluster = server.cluster().await;
    let client = server.client().await;
    let spaces: Api<Namespace> = Api::all(client.clone());
    let space = serde_json::from_value(json!({"metadata": {"name": "sample-foreign"}})).unwrap();
    let _ = spaces.create(&PostParams::default(), &space).await;
    let services: Api<Service> = Api::namespaced(client.clone(), "sample-foreign");
    let name = "casement-sample-linux";
    let theirs = json!({
        "metadata": {"name": name},
        "spec": {"ports": [{"port": 8080}], "selector": {"app": "theirs"}},
    });
    let theirs = serde_json::from_value(theirs).unwrap();
    services
        .create(&PostParams::default(), &theirs)
        .await
        .unwrap();
    let facts = cluster.observe().await.unwrap();
    let mut sample = Sample::of(&facts, "sample-foreign", Expose::ClusterIp);
    sample.windows.clear();
    let error = cluster.deploy_sample(&sample).await.unwrap_err();
    assert_eq!(error.code(), "CAS-API-011");
    let deleted = cluster.delete_sample("sample-foreign").await.unwrap();
    assert_eq!(deleted.len(), 1, "{deleted:?}");
    let sets: Api<Deployment> = Api::namespaced(client, "sample-foreign");
    assert!(sets.get_opt(name).await.unwrap().is_none());
    assert!(services.get_opt(name).await.unwrap().is_some());
    services
        .delete(name, &DeleteParams::default())
        .await
        .unwrap();
}
