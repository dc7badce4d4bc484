//! A simulated cluster, and the casement that people would type.

use std::process::{Command, Output};

use casement_lab::sim::{SimCluster, SimShape};

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
        let mut command = self.command(words);
        let run = tokio::task::spawn_blocking(move || command.output().unwrap());
        run.await.unwrap()
    }

    /// What it says, on both streams.
    pub async fn succeed(&self, words: &[&str]) -> String {
        let output = self.run(words).await;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let noise = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{words:?}: {said}{noise}");
        format!("{said}{noise}")
    }

    /// What it says when it ends with this code.
    pub async fn refused(&self, words: &[&str], code: i32) -> String {
        let output = self.run(words).await;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let noise = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{words:?}: {said}{noise}");
        format!("{said}{noise}")
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

/// A row of numbers; `CASEMENT_SEED` repeats it.
pub struct Random(u64);

impl Random {
    pub fn new() -> Self {
        let given = std::env::var("CASEMENT_SEED").ok();
        let given = given.and_then(|text| text.parse().ok());
        let seed = given.unwrap_or_else(|| {
            let now = std::time::SystemTime::now();
            let now = now.duration_since(std::time::UNIX_EPOCH).unwrap();
            u64::from(now.subsec_nanos())
        });
        println!("CASEMENT_SEED={seed} replays this run");
        Self(seed)
    }

    /// The next one, below another.
    pub fn below(&mut self, below: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below.max(1)
    }
}
