//! Bootstrap tokens: one per host and run, short-lived, deleted after use.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, PostParams};
use secrecy::{ExposeSecret as _, SecretString};

use crate::client::ClusterClient;
use crate::csr::JoiningNode;
use crate::error::ClusterError;
use crate::{FIELD_MANAGER, OWNED_LABEL};

const NAMESPACE: &str = "kube-system";
const RUN_LABEL: &str = "casement.dev/run";
const HOST_LABEL: &str = "casement.dev/host";
const GROUP: &str = "system:bootstrappers:kubeadm:default-node-token";
/// The upper limit, whatever is requested.
const MAX_LIFETIME: Duration = Duration::from_secs(3600);
const ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";

#[derive(Debug, Clone)]
pub struct BootstrapTokenRequest {
    /// A DNS label.
    pub host: String,
    /// The run id: letters, digits, `-`, `_` and `.`.
    pub run: String,
    /// At most one hour.
    pub lifetime: Duration,
}

/// A token that joins one host. `Debug` does not show its secret.
#[derive(Debug)]
pub struct BootstrapToken {
    id: String,
    secret: SecretString,
}

impl BootstrapToken {
    /// The public half.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Both halves, in kubeadm's format.
    pub fn value(&self) -> SecretString {
        format!("{}.{}", self.id, self.secret.expose_secret()).into()
    }
}

impl ClusterClient {
    pub async fn create_token(
        &self,
        request: &BootstrapTokenRequest,
    ) -> Result<BootstrapToken, ClusterError> {
        let token = BootstrapToken {
            id: random_text(6)?,
            secret: random_text(16)?.into(),
        };
        let secret = manifest(&token, request, Timestamp::now());
        let params = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        let created = self.secrets().create(&params, &secret).await;
        created.map_err(self.failed("create a bootstrap token"))?;
        Ok(token)
    }

    /// Succeeds if the token does not exist.
    pub async fn delete_token(&self, id: &str) -> Result<(), ClusterError> {
        self.delete_secret(&format!("bootstrap-token-{id}")).await
    }

    /// Deletes tokens that interrupted runs created for these hosts. Tokens of other
    /// hosts may be in use by another run.
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
            if ours && hosts.iter().any(|name| host == Some(*name)) {
                self.delete_secret(&name).await?;
                deleted.push(name);
            }
        }
        Ok(deleted)
    }

    /// Whether this run created the token for this node.
    pub(crate) async fn is_token_of(
        &self,
        id: &str,
        joining: &JoiningNode,
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

fn manifest(token: &BootstrapToken, request: &BootstrapTokenRequest, now: Timestamp) -> Secret {
    let lifetime = request.lifetime.min(MAX_LIFETIME);
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
            format!("casement: {} joins (run {})", request.host, request.run),
        ),
    ]);
    let (key, value) = OWNED_LABEL;
    Secret {
        metadata: ObjectMeta {
            name: Some(format!("bootstrap-token-{}", token.id)),
            namespace: Some(NAMESPACE.to_owned()),
            labels: Some(BTreeMap::from([
                text(key, value.to_owned()),
                text(RUN_LABEL, request.run.clone()),
                text(HOST_LABEL, request.host.clone()),
            ])),
            ..ObjectMeta::default()
        },
        type_: Some("bootstrap.kubernetes.io/token".to_owned()),
        string_data: Some(data),
        ..Secret::default()
    }
}

/// Uniformly distributed: bytes beyond the last whole multiple of the alphabet's
/// length are discarded.
fn random_text(length: usize) -> Result<String, ClusterError> {
    let fair = u8::MAX - u8::MAX % 36;
    let mut text = String::new();
    while text.len() < length {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| ClusterError::Unusable {
            what: "the system's random number generator".to_owned(),
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

    fn request(seconds: u64) -> BootstrapTokenRequest {
        BootstrapTokenRequest {
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
    fn a_token_names_its_host_and_lives_at_most_one_hour() {
        let now: Timestamp = "2026-01-01T00:00:00.9Z".parse().unwrap();
        let expiry = |seconds| {
            let data = manifest(&token(), &request(seconds), now)
                .string_data
                .unwrap();
            data.get("expiration").unwrap().clone()
        };
        assert_eq!(expiry(600), "2026-01-01T00:10:00Z");
        assert_eq!(expiry(86400), "2026-01-01T01:00:00Z");
        let secret = manifest(&token(), &request(600), now);
        let data = secret.string_data.unwrap();
        assert_eq!(data["description"], "casement: windows01 joins (run r1)");
        assert_eq!(secret.metadata.name.unwrap(), "bootstrap-token-abcdef");
    }

    #[test]
    fn debug_output_hides_the_secret() {
        let text = format!("{:?}", token());
        assert!(
            text.contains("abcdef") && !text.contains("0123456789"),
            "{text}"
        );
        assert_eq!(token().value().expose_secret(), "abcdef.0123456789abcdef");
    }

    #[test]
    fn random_text_uses_the_token_alphabet() {
        let text = random_text(500).unwrap();
        assert_eq!(text.len(), 500);
        assert!(text.bytes().all(|byte| ALPHABET.contains(&byte)));
    }
}
