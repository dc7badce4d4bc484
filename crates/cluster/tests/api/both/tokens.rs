//! Tokens that the API server accepts, and no longer.

use std::time::Duration;

use casement_cluster::{Cluster, TokenOrder};
use kube::Client;
use secrecy::ExposeSecret as _;

use crate::server::Server;

fn order(host: &str, run: &str) -> TokenOrder {
    TokenOrder {
        host: host.to_owned(),
        run: run.to_owned(),
        lifetime: Duration::from_secs(600),
    }
}

/// Whether the server knows the bearer of this token. It caches what it knows
/// for some seconds, so a change is waited for.
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

async fn mint(cluster: &Cluster, host: &str, run: &str) -> (String, String) {
    let token = cluster.mint_token(&order(host, run)).await.unwrap();
    (
        token.id().to_owned(),
        token.value().expose_secret().to_owned(),
    )
}

pub async fn a_token_is_accepted_until_it_is_deleted(server: &Server) {
    let cluster = server.cluster().await;
    let (id, value) = mint(&cluster, "tokens-a", "r1").await;
    becomes(server, &value, true).await;
    cluster.delete_token(&id).await.unwrap();
    becomes(server, &value, false).await;
    cluster.delete_token(&id).await.unwrap();
}

pub async fn leftovers_of_these_hosts_go_and_others_stay(server: &Server) {
    let cluster = server.cluster().await;
    let (old, _) = mint(&cluster, "tokens-b", "killed").await;
    let (mine, _) = mint(&cluster, "tokens-b", "r2").await;
    let (other, _) = mint(&cluster, "tokens-c", "elsewhere").await;
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
