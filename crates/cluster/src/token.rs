//! Bootstrap tokens: one for each host and run, short-lived, deleted after use.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, PostParams};
use secrecy::{ExposeSecret as _, SecretString};

use crate::connect::Cluster;
use crate::error::ClusterError;
use crate::request::Joining;
use crate::{FIELD_MANAGER, OWNED_LABEL};

const NAMESPACE: &str = "kube-system";
const RUN_LABEL: &str = "casement.dev/run";
const HOST_LABEL: &str = "casement.dev/host";
const GROUP: &str = "system:bootstrappers:kubeadm:default-node-token";
/// No token lives longer, whatever is asked for.
const LONGEST: Duration = Duration::from_secs(3600);
const ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";

/// Whom a token is for.
#[derive(Debug, Clone)]
pub struct TokenOrder {
    /// The host's name; a DNS label.
    pub host: String,
    /// The run's id; letters, digits, `-`, `_` and `.`.
    pub run: String,
    /// How long it may be used: an hour at most.
    pub lifetime: Duration,
}

/// A token that joins one host. It prints without its secret.
#[derive(Debug)]
pub struct BootstrapToken {
    id: String,
    secret: SecretString,
}

impl BootstrapToken {
    /// The public half, which names the token.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Both halves, as kubeadm takes them.
    pub fn value(&self) -> SecretString {
        format!("{}.{}", self.id, self.secret.expose_secret()).into()
    }
}

impl Cluster {
    /// Makes a token for one host.
    pub async fn mint_token(&self, order: &TokenOrder) -> Result<BootstrapToken, ClusterError> {
        let token = BootstrapToken {
            id: random_text(6)?,
            secret: random_text(16)?.into(),
        };
        let secret = manifest(&token, order, Timestamp::now());
        let params = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        let made = self.secrets().create(&params, &secret).await;
        made.map_err(self.failed("make a bootstrap token"))?;
        Ok(token)
    }

    /// Deletes a token; one that is gone is fine.
    pub async fn delete_token(&self, id: &str) -> Result<(), ClusterError> {
        self.delete_secret(&format!("bootstrap-token-{id}")).await
    }

    /// Deletes the tokens that earlier runs made for these hosts and did not live
    /// to delete. Tokens of other hosts may be another run's, just in use.
    pub async fn delete_leftover_tokens(
        &self,
        run: &str,
        hosts: &[&str],
    ) -> Result<Vec<String>, ClusterError> {
        let selector = ListParams::default().labels(&format!("{RUN_LABEL},{RUN_LABEL}!={run}"));
        let list = self.secrets().list_metadata(&selector).await;
        let list = list.map_err(self.failed("list bootstrap tokens"))?;
        let mut deleted = Vec::new();
        for secret in list {
            let labels = secret.metadata.labels.unwrap_or_default();
            let host = labels.get(HOST_LABEL).map(String::as_str);
            let name = secret.metadata.name.unwrap_or_default();
            let (key, value) = OWNED_LABEL;
            let ours = labels.get(key).is_some_and(|found| found == value)
                && name.starts_with("bootstrap-token-");
            if ours && hosts.iter().any(|wanted| host == Some(*wanted)) {
                self.delete_secret(&name).await?;
                deleted.push(name);
            }
        }
        Ok(deleted)
    }

    /// Whether a token is one that this run made for this node.
    pub(crate) async fn is_token_of(
        &self,
        id: &str,
        joining: &Joining,
    ) -> Result<bool, ClusterError> {
        let (key, value) = OWNED_LABEL;
        let (run, host) = (&joining.run, &joining.node);
        let labels = format!("{key}={value},{RUN_LABEL}={run},{HOST_LABEL}={host}");
        let params = ListParams::default().labels(&labels);
        let list = self.secrets().list_metadata(&params).await;
        let list = list.map_err(self.failed("list bootstrap tokens"))?;
        let name = format!("bootstrap-token-{id}");
        let mut names = list.iter().filter_map(|it| it.metadata.name.as_deref());
        Ok(names.any(|found| found == name))
    }

    async fn delete_secret(&self, name: &str) -> Result<(), ClusterError> {
        match self.secrets().delete(name, &DeleteParams::default()).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(self.failed(format!("delete Secret kube-system/{name}"))(
                error,
            )),
        }
    }

    fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }
}

fn manifest(token: &BootstrapToken, order: &TokenOrder, now: Timestamp) -> Secret {
    let lifetime = order.lifetime.min(LONGEST);
    let lifetime = SignedDuration::try_from(lifetime).unwrap_or(SignedDuration::ZERO);
    let expiry = now.saturating_add(lifetime).unwrap_or(now);
    let text = |key: &str, value: String| (key.to_owned(), value);
    let yes = || "true".to_owned();
    let data = BTreeMap::from([
        text("token-id", token.id.clone()),
        text("token-secret", token.secret.expose_secret().to_owned()),
        text(
            "expiration",
            expiry.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        ),
        text("usage-bootstrap-authentication", yes()),
        text("usage-bootstrap-signing", yes()),
        text("auth-extra-groups", GROUP.to_owned()),
        text(
            "description",
            format!("casement: {} joins (run {})", order.host, order.run),
        ),
    ]);
    let (key, value) = OWNED_LABEL;
    Secret {
        metadata: ObjectMeta {
            name: Some(format!("bootstrap-token-{}", token.id)),
            namespace: Some(NAMESPACE.to_owned()),
            labels: Some(BTreeMap::from([
                text(key, value.to_owned()),
                text(RUN_LABEL, order.run.clone()),
                text(HOST_LABEL, order.host.clone()),
            ])),
            ..ObjectMeta::default()
        },
        type_: Some("bootstrap.kubernetes.io/token".to_owned()),
        string_data: Some(data),
        ..Secret::default()
    }
}

/// Letters and digits, each as likely as any other: bytes beyond the last whole
/// multiple of the alphabet are thrown away.
fn random_text(length: usize) -> Result<String, ClusterError> {
    let fair = u8::MAX - u8::MAX % 36;
    let mut text = String::new();
    while text.len() < length {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| ClusterError::NotUnderstood {
            what: "the system's source of chance".to_owned(),
            reason: error.to_string(),
        })?;
        let usable = bytes.iter().filter(|byte| **byte < fair);
        let letters = usable.filter_map(|byte| ALPHABET.get(usize::from(byte % 36)));
        text.extend(
            letters
                .take(length - text.len())
                .map(|byte| char::from(*byte)),
        );
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(seconds: u64) -> TokenOrder {
        TokenOrder {
            host: "windows01".to_owned(),
            run: "r1".to_owned(),
            lifetime: Duration::from_secs(seconds),
        }
    }

    fn token() -> BootstrapToken {
        BootstrapToken {
            id: "abcdef".to_owned(),
            secret: "0123456789abcdef".to_owned().into(),
        }
    }

    #[test]
    fn a_token_says_whose_it_is_and_lives_an_hour_at_most() {
        let now: Timestamp = "2026-01-01T00:00:00.9Z".parse().unwrap();
        let expiry = |seconds| {
            let data = manifest(&token(), &order(seconds), now)
                .string_data
                .unwrap();
            data.get("expiration").unwrap().clone()
        };
        assert_eq!(expiry(600), "2026-01-01T00:10:00Z");
        assert_eq!(expiry(86400), "2026-01-01T01:00:00Z");
        let secret = manifest(&token(), &order(600), now);
        let data = secret.string_data.unwrap();
        assert_eq!(data["description"], "casement: windows01 joins (run r1)");
        assert_eq!(secret.metadata.name.unwrap(), "bootstrap-token-abcdef");
    }

    #[test]
    fn a_token_prints_without_its_secret() {
        let text = format!("{:?}", token());
        assert!(
            text.contains("abcdef") && !text.contains("0123456789"),
            "{text}"
        );
        assert_eq!(token().value().expose_secret(), "abcdef.0123456789abcdef");
    }

    #[test]
    fn chance_has_the_right_letters() {
        let text = random_text(500).unwrap();
        assert_eq!(text.len(), 500);
        assert!(text.bytes().all(|byte| ALPHABET.contains(&byte)));
    }
}
