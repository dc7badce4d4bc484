//! Verbs and options that touch some of a cluster's hosts.

use std::process::{Command, Output};

use casement_lab::sim::SimCluster;

struct Ground {
    cluster: SimCluster,
    _folder: tempfile::TempDir,
}

impl Ground {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let cluster = SimCluster::start(folder.path(), 3, true).await.unwrap();
        Self {
            cluster,
            _folder: folder,
        }
    }

    async fn run(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_casement"));
        let file = self.cluster.cluster_file();
        command.current_dir(file.parent().unwrap());
        command.args(words).args(["--agent-dir", "agent"]);
        let run = tokio::task::spawn_blocking(move || command.output().unwrap());
        run.await.unwrap()
    }

    async fn succeed(&self, words: &[&str]) -> String {
        let output = self.run(words).await;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let noise = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{words:?}: {said}{noise}");
        format!("{said}{noise}")
    }

    fn joined(&self, host: &str) -> bool {
        let host = self.cluster.host(host).unwrap();
        host.sim().runs("kubelet")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn apply_only_touches_the_host_that_is_named() {
    let ground = Ground::start().await;
    let only = ["apply", "--yes", "--only", "windows2"];
    let said = ground.succeed(&only).await;
    assert!(said.contains("windows2"), "{said}");
    assert!(ground.joined("windows2"));
    assert!(!ground.joined("windows1") && !ground.joined("windows3"));
    let output = ground.run(&["apply", "--yes", "--only", "windows9"]).await;
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("windows1"), "it names the hosts: {said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_are_cut_off_one_after_the_other_where_that_is_asked_for() {
    let ground = Ground::start().await;
    let one = ["apply", "--yes", "--max-unavailable", "1"];
    ground.succeed(&one).await;
    ground.succeed(&["status"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_host_joins_without_a_file_and_is_taken_back_with_the_one_that_was_kept() {
    let ground = Ground::start().await;
    let host = ground.cluster.host("windows1").unwrap();
    let address = host.spec().address.to_string();
    let port = host.port().to_string();
    let words = [
        "join",
        &address,
        "--kubeconfig",
        "admin.conf",
        "--key",
        "id_ed25519",
        "--known-hosts",
        "known_hosts",
        "--port",
        &port,
        "--programs",
        "programs",
        "--yes",
    ];
    let said = ground.succeed(&words).await;
    assert!(said.contains("win-0-12 is Ready"), "{said}");
    assert!(ground.joined("windows1"));
    let kept = ".casement/join/win-0-12.yaml";
    ground.succeed(&["status", "-f", kept]).await;
    let back = ["reset", "--all", "--cluster", "--yes", "-f", kept];
    ground.succeed(&back).await;
    assert_eq!(host.left_behind(), [] as [&str; 0]);
    let other = ["--cluster-cidr", "10.9.0.0/16"];
    let output = ground.run(&[&words[..], &other[..]].concat()).await;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success());
    assert!(
        said.contains("10.9.0.0/16") && said.contains("10.244.0.0/16"),
        "both values: {said}"
    );
}
