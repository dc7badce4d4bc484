//! A cluster that is made of downloads.

use std::path::PathBuf;
use std::process::{Command, Output};

use crate::ground::Ground;
use crate::mirror::{mirror_of, pin};
use crate::publisher::Publisher;
use crate::typed::{run, said};

/// A cluster whose programs a mirror has.
pub struct Shop {
    pub ground: Ground,
    pub publisher: Publisher,
}

impl Shop {
    /// With one Windows host.
    pub async fn open() -> Self {
        Self::with_hosts(1).await
    }

    /// A cluster whose file names a mirror and no program.
    pub async fn with_hosts(windows: usize) -> Self {
        let ground = Ground::start(windows, true).await;
        let publisher = mirror_of(&ground.cluster);
        Self { ground, publisher }
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.ground.cluster.agents().with_file_name(name)
    }

    pub fn casement(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_casement"));
        command.current_dir(self.at("")).args(words);
        // Loopback is asked directly, whatever this machine's way out is.
        command.env("NO_PROXY", "127.0.0.0/8");
        command
    }

    /// Pins what the publisher has.
    pub async fn pin(&self) {
        let output = run(self.casement(&["lock"])).await;
        assert!(output.status.success(), "{}", said(&output));
        pin(&self.at("casement.lock"), &self.publisher);
    }

    pub async fn apply(&self, words: &[&str]) -> Output {
        let all = [&["apply", "--yes", "--agent-dir", "agent"], words].concat();
        run(self.casement(&all)).await
    }

    pub async fn refused(&self, words: &[&str], told: &[&str]) {
        let output = self.apply(words).await;
        let said = said(&output);
        println!("{said}");
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.lines().count() <= 24, "more than a screen: {said}");
        for word in told {
            assert!(said.contains(word), "`{word}` is not in: {said}");
        }
        let host = self.ground.cluster.host("windows1").unwrap();
        assert_eq!(host.left_behind(), [] as [&str; 0], "{said}");
    }

    pub async fn joined(&self, words: &[&str]) -> String {
        let output = self.apply(words).await;
        let said = said(&output);
        assert!(output.status.success(), "{said}");
        said
    }
}
