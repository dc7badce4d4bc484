//! A simulated cluster, and the casement binary run against it.

use std::path::PathBuf;
use std::process::{Command, Output};

use casement_sim::{SimCluster, SimOptions};

use crate::command::{self, combined_output};

/// Stops the cluster and deletes its folder on drop.
pub struct Fixture {
    pub cluster: SimCluster,
    _folder: tempfile::TempDir,
}

impl Fixture {
    /// `repair`: whether the agents repair drift by themselves.
    pub async fn start(windows: usize, repair: bool) -> Self {
        let shape = SimOptions {
            windows,
            repair,
            ..SimOptions::default()
        };
        Self::start_with(&shape).await
    }

    pub async fn start_with(shape: &SimOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let cluster = SimCluster::start(folder.path(), shape).await;
        Self {
            cluster: cluster.unwrap(),
            _folder: folder,
        }
    }

    /// The folder of the cluster file.
    pub fn folder(&self) -> PathBuf {
        let file = self.cluster.cluster_file();
        file.parent().unwrap().to_owned()
    }

    /// A casement command in the folder of the cluster file.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_casement"));
        command.current_dir(self.folder());
        command.args(args);
        // `sample` talks to the cluster only and has no `--agent-dir`.
        if args.first() != Some(&"sample") {
            command.args(["--agent-dir", "agent"]);
        }
        command
    }

    pub async fn run(&self, args: &[&str]) -> Output {
        command::run(self.command(args)).await
    }

    /// Returns stdout and stderr.
    pub async fn succeed(&self, args: &[&str]) -> String {
        command::succeed(self.command(args)).await
    }

    /// Returns stdout and stderr of a run that exits with `code`.
    pub async fn fail(&self, args: &[&str], code: i32) -> String {
        let output = self.run(args).await;
        let printed = combined_output(&output);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {printed}");
        printed
    }

    /// Times out after a minute, which is generous for a slow CI machine.
    pub async fn wait_until(&self, what: &str, condition: impl Fn(&SimCluster) -> bool) {
        for _ in 0..1200 {
            if condition(&self.cluster) {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        panic!("timed out after 60 s: {what}");
    }
}
