//! The same against the real API server of a lab.
//!
//! `CASEMENT_TEST_LAB` is the folder of a lab that is up.

use std::path::PathBuf;

use casement_cluster::Cluster;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

mod changes;
mod nodes;
mod rights;
mod tokens;

/// Tests that share the ConfigMap `casement-state`: one after the other.
static STATE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

fn lab() -> PathBuf {
    let folder = std::env::var_os("CASEMENT_TEST_LAB");
    let folder: PathBuf = folder
        .expect("CASEMENT_TEST_LAB names a lab that is up")
        .into();
    folder.join("admin.conf")
}

async fn cluster() -> Cluster {
    Cluster::connect(&lab()).await.unwrap()
}

async fn config() -> Config {
    let kubeconfig = Kubeconfig::read_from(lab()).unwrap();
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .unwrap()
}

async fn client() -> Client {
    Client::try_from(config().await).unwrap()
}

/// The same server with a token as the only credential.
async fn config_with_token(token: &str) -> Config {
    let mut config = config().await;
    config.auth_info = Default::default();
    config.auth_info.token = Some(token.to_owned().into());
    config
}

#[tokio::test]
#[ignore = "needs root and go"]
async fn facts_are_what_kubeadm_wrote() {
    let cluster = cluster().await;
    cluster.check_rights().await.unwrap();
    let facts = cluster.facts().await.unwrap();
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

#[tokio::test]
#[ignore = "needs root and go"]
async fn a_server_with_another_ca_is_not_trusted() {
    let mut kubeconfig = Kubeconfig::read_from(lab()).unwrap();
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
    let Err(error) = Cluster::connect(&path).await else {
        panic!("it connected");
    };
    assert_eq!(error.code(), "CAS-API-004", "{error:?}");
}
