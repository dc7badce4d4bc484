//! Observing a cluster, and trusting its server.

use casement_cluster::ClusterClient;
use kube::config::Kubeconfig;

use crate::server::Server;

pub async fn facts_match_kubeadm_config(server: &Server) {
    let cluster = server.cluster().await;
    cluster.check_permissions().await.unwrap();
    let facts = cluster.observe().await.unwrap();
    assert!(facts.version.starts_with("v1.36."), "{}", facts.version);
    assert_eq!(facts.pod_cidrs, ["10.244.0.0/16"]);
    assert_eq!(facts.service_cidrs, ["10.96.0.0/16"]);
    assert_eq!(facts.cluster_dns, ["10.96.0.10"]);
    assert_eq!(facts.dns_domain, "cluster.local");
    assert_eq!(format!("https://{}", facts.endpoint), facts.server);
    let [hash] = facts.ca_hashes.as_slice() else {
        panic!("{:?}", facts.ca_hashes);
    };
    assert_eq!(hash.len(), "sha256:".len() + 64);
    let node = facts.node("LIN1").unwrap();
    assert_eq!(node.os, "linux");
    assert!(node.ready && !node.pod_cidrs.is_empty() && !node.addresses.is_empty());
}

pub async fn a_server_with_another_ca_is_not_trusted(server: &Server) {
    let mut kubeconfig = Kubeconfig::read_from(server.kubeconfig()).unwrap();
    for named in &mut kubeconfig.clusters {
        let cluster = named.cluster.as_mut().unwrap();
        cluster.certificate_authority_data = None;
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ca.crt");
        cluster.certificate_authority = Some(path.to_owned());
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("admin.conf");
    // JSON is YAML.
    std::fs::write(&path, serde_json::to_string(&kubeconfig).unwrap()).unwrap();
    let Err(error) = ClusterClient::connect(&path).await else {
        panic!("it connected");
    };
    assert_eq!(error.code(), "CAS-API-004", "{error:?}");
}
