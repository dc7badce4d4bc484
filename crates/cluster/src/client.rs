//! Connects to the API server of a kubeconfig.

use std::path::Path;
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

use crate::error::{AccessError, ClusterError};

/// A connected client; the server's version is known.
#[derive(Clone)]
pub struct ClusterClient {
    pub(crate) client: Client,
    pub(crate) server: String,
    version: String,
}

impl ClusterClient {
    /// Connects with the current context of the kubeconfig and reads the server's
    /// version.
    pub async fn connect(path: &Path) -> Result<Self, ClusterError> {
        if let Err(source) = std::fs::File::open(path) {
            return Err(AccessError::KubeconfigMissing {
                path: path.to_owned(),
                source,
            }
            .into());
        }
        let unusable = |error: KubeconfigError| AccessError::KubeconfigUnusable {
            path: path.to_owned(),
            reason: error.to_string(),
        };
        let kubeconfig = Kubeconfig::read_from(path).map_err(unusable)?;
        let options = KubeConfigOptions::default();
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &options)
            .await
            .map_err(unusable)?;
        config.connect_timeout = Some(Duration::from_secs(10));
        let server = config.cluster_url.to_string();
        let server = server.trim_end_matches('/').to_owned();
        let client = Client::try_from(config)
            .map_err(|error| ClusterError::from_kube(&server, "create a client", error))?;
        Self::with_client(client, server).await
    }

    pub async fn with_client(client: Client, server: String) -> Result<Self, ClusterError> {
        let version = client.apiserver_version().await;
        let version = version
            .map_err(|error| ClusterError::from_kube(&server, "report its version", error))?;
        Ok(Self {
            client,
            server,
            version: version.git_version,
        })
    }

    /// The API server's version, with the leading `v`.
    pub fn version(&self) -> &str {
        &self.version
    }

    pub fn server(&self) -> &str {
        &self.server
    }

    pub(crate) fn failed(
        &self,
        what: impl Into<String>,
    ) -> impl FnOnce(kube::Error) -> ClusterError {
        let server = self.server.clone();
        let what = what.into();
        move |error| ClusterError::from_kube(&server, what, error)
    }
}
