//! A simulated cluster, and the casement that people would type.

use std::process::{Command, Output};

use casement_sim::{SimCluster, SimShape};

use crate::typed::{self, said};

/// A cluster that is gone with this, and its folder with it.
pub struct Ground {
    pub cluster: SimCluster,
    _folder: tempfile::TempDir,
}

impl Ground {
    /// With so many Windows hosts, which repair themselves or leave that to a
    /// person.
    pub async fn start(windows: usize, repair: bool) -> Self {
        let shape = SimShape {
            windows,
            repair,
            ..SimShape::default()
        };
        Self::start_as(&shape).await
    }

    /// With a cluster that is like this.
    pub async fn start_as(shape: &SimShape) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let cluster = SimCluster::start(folder.path(), shape).await;
        Self {
            cluster: cluster.unwrap(),
            _folder: folder,
        }
    }

    /// A command, typed where the cluster file is.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_casement"));
        let file = self.cluster.cluster_file();
        command.current_dir(file.parent().unwrap());
        command.args(words);
        // A sample goes to the cluster alone.
        if words.first() != Some(&"sample") {
            command.args(["--agent-dir", "agent"]);
        }
        command
    }

    pub async fn run(&self, words: &[&str]) -> Output {
        typed::run(self.command(words)).await
    }

    /// What it says, on both streams.
    pub async fn succeed(&self, words: &[&str]) -> String {
        typed::succeed(self.command(words)).await
    }

    /// What it says when it ends with this code.
    pub async fn refused(&self, words: &[&str], code: i32) -> String {
        let output = self.run(words).await;
        let said = said(&output);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
        said
    }

    /// Waits until something holds, for as long as a slow machine may take.
    pub async fn until(&self, what: &str, holds: impl Fn(&SimCluster) -> bool) {
        for _ in 0..600 {
            if holds(&self.cluster) {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        panic!("{what}: not for 30 s");
    }
}
