//! From a kubeconfig to a cluster that answers.

use std::path::Path;
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

use crate::error::ClusterError;

/// A cluster that answered.
#[derive(Clone)]
pub struct Cluster {
    pub(crate) client: Client,
    pub(crate) server: String,
    version: String,
}

impl Cluster {
    /// Reads the kubeconfig, connects as its current context, and asks for the
    /// server's version.
    pub async fn connect(path: &Path) -> Result<Self, ClusterError> {
        if let Err(source) = std::fs::File::open(path) {
            return Err(ClusterError::KubeconfigMissing {
                path: path.to_owned(),
                source,
            });
        }
        let unusable = |error: KubeconfigError| ClusterError::KubeconfigUnusable {
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
            .map_err(|error| ClusterError::of(&server, "start a client", error))?;
        Self::over(client, server).await
    }

    /// The same over a client that is there already.
    pub async fn over(client: Client, server: String) -> Result<Self, ClusterError> {
        let version = client.apiserver_version().await;
        let version =
            version.map_err(|error| ClusterError::of(&server, "tell its version", error))?;
        Ok(Self {
            client,
            server,
            version: version.git_version,
        })
    }

    /// The API server's version, with its `v`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The API server's URL.
    pub fn server(&self) -> &str {
        &self.server
    }

    pub(crate) fn failed(
        &self,
        what: impl Into<String>,
    ) -> impl FnOnce(kube::Error) -> ClusterError {
        let server = self.server.clone();
        let what = what.into();
        move |error| ClusterError::of(&server, what, error)
    }
}
