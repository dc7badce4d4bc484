//! Bootstrap tokens against the API server.

use std::time::Duration;

use casement_cluster::{BootstrapTokenRequest, ClusterClient};
use kube::Client;
use secrecy::ExposeSecret as _;

use crate::server::Server;

fn token_request(host: &str, run: &str) -> BootstrapTokenRequest {
    BootstrapTokenRequest {
        host: host.to_owned(),
        run: run.to_owned(),
        lifetime: Duration::from_secs(600),
    }
}

/// Whether the server accepts this token. It caches for some seconds, so a change has
/// to be polled.
async fn is_accepted(server: &Server, token: &str) -> bool {
    let client = Client::try_from(server.config_with_token(token).await).unwrap();
    match client.list_core_api_versions().await {
        Ok(_) => true,
        Err(kube::Error::Api(status)) if status.code == 401 => false,
        Err(error) => panic!("{error}"),
    }
}

async fn becomes(server: &Server, token: &str, wanted: bool) {
    for _ in 0..200 {
        if is_accepted(server, token).await == wanted {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the token is never accepted: {wanted}");
}

async fn create(cluster: &ClusterClient, host: &str, run: &str) -> (String, String) {
    let token = cluster
        .create_token(&token_request(host, run))
        .await
        .unwrap();
    (
        token.id().to_owned(),
        token.value().expose_secret().to_owned(),
    )
}

pub async fn a_token_is_accepted_until_it_is_deleted(server: &Server) {
    let cluster = server.cluster().await;
    let (id, value) = create(&cluster, "tokens-a", "r1").await;
    becomes(server, &value, true).await;
    cluster.delete_token(&id).await.unwrap();
    becomes(server, &value, false).await;
    cluster.delete_token(&id).await.unwrap();
}

pub async fn only_leftover_tokens_of_these_hosts_are_deleted(server: &Server) {
    let cluster = server.cluster().await;
    let (old, _) = create(&cluster, "tokens-b", "killed").await;
    let (mine, _) = create(&cluster, "tokens-b", "r2").await;
    let (other, _) = create(&cluster, "tokens-c", "elsewhere").await;
    let deleted = cluster.delete_leftover_tokens("r2", &["tokens-b"]).await;
    assert_eq!(deleted.unwrap(), [format!("bootstrap-token-{old}")]);
    let deleted = cluster
        .delete_leftover_tokens("none", &["tokens-b", "tokens-c"])
        .await;
    let mut deleted = deleted.unwrap();
    deleted.sort();
    let mut wanted = [mine, other].map(|id| format!("bootstrap-token-{id}"));
    wanted.sort();
    assert_eq!(deleted, wanted);
}
