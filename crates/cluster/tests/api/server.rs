//! The API server of a test.

use std::path::{Path, PathBuf};

use casement_cluster::ClusterClient;
use casement_sim::api_server::{self, ApiServer, Seed};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::sync::{Mutex, MutexGuard};

/// Serializes tests that share a lab's ConfigMap `casement-state`.
static STATE: Mutex<()> = Mutex::const_new(());

pub struct Server {
    kubeconfig: PathBuf,
    /// The embedded server and the folder of its kubeconfig.
    own: Option<(ApiServer, tempfile::TempDir)>,
}

impl Server {
    /// A new server inside this process.
    pub fn embedded() -> Self {
        let running = api_server::start(Seed::default()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = folder.path().join("admin.conf");
        std::fs::write(&kubeconfig, running.kubeconfig()).unwrap();
        Self {
            kubeconfig,
            own: Some((running, folder)),
        }
    }

    /// The real server of the lab in `CASEMENT_TEST_LAB`.
    pub fn of_the_lab() -> Self {
        let folder = std::env::var_os("CASEMENT_TEST_LAB");
        let folder: PathBuf = folder
            .expect("CASEMENT_TEST_LAB names a running lab")
            .into();
        Self {
            kubeconfig: folder.join("admin.conf"),
            own: None,
        }
    }

    pub fn is_embedded(&self) -> bool {
        self.own.is_some()
    }

    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Held by tests that write `casement-state`.
    pub async fn state(&self) -> Option<MutexGuard<'static, ()>> {
        match self.is_embedded() {
            true => None,
            false => Some(STATE.lock().await),
        }
    }

    pub async fn cluster(&self) -> ClusterClient {
        ClusterClient::connect(&self.kubeconfig).await.unwrap()
    }

    pub async fn config(&self) -> Config {
        let kubeconfig = Kubeconfig::read_from(&self.kubeconfig).unwrap();
        Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
            .await
            .unwrap()
    }

    pub async fn client(&self) -> Client {
        Client::try_from(self.config().await).unwrap()
    }

    /// The same server with a token as the only credential.
    pub async fn config_with_token(&self, token: &str) -> Config {
        let mut config = self.config().await;
        config.auth_info = Default::default();
        config.auth_info.token = Some(token.to_owned().into());
        config
    }
}
