//! A cluster whose programs are downloaded from a mirror.

use std::path::PathBuf;
use std::process::{Command, Output};

use crate::command::{combined_output, run};
use crate::fixture::Fixture;
use crate::mirror::{pin, start_mirror};
use crate::mirror_server::MirrorServer;

pub struct MirrorFixture {
    pub base: Fixture,
    pub mirror: MirrorServer,
}

impl MirrorFixture {
    /// One Windows host.
    pub async fn start() -> Self {
        Self::start_with_hosts(1).await
    }

    /// The cluster file names a mirror and no programs.
    pub async fn start_with_hosts(windows: usize) -> Self {
        let base = Fixture::start(windows, true).await;
        let mirror = start_mirror(&base.cluster);
        Self { base, mirror }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.base.cluster.agents().with_file_name(name)
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_casement"));
        command.current_dir(self.path("")).args(args);
        // Connect to loopback directly even where a proxy is configured.
        command.env("NO_PROXY", "127.0.0.0/8");
        command
    }

    /// Pins what the mirror serves.
    pub async fn pin(&self) {
        let output = run(self.command(&["lock"])).await;
        assert!(output.status.success(), "{}", combined_output(&output));
        pin(&self.path("casement.lock"), &self.mirror);
    }

    pub async fn apply(&self, args: &[&str]) -> Output {
        let all = [&["apply", "--yes", "--agent-dir", "agent"], args].concat();
        run(self.command(&all)).await
    }

    pub async fn apply_fails(&self, args: &[&str], expected: &[&str]) {
        let output = self.apply(args).await;
        let printed = combined_output(&output);
        println!("{printed}");
        assert_eq!(output.status.code(), Some(1), "{printed}");
        assert!(
            printed.lines().count() <= 24,
            "more than a screen: {printed}"
        );
        for part in expected {
            assert!(printed.contains(part), "`{part}` is not in: {printed}");
        }
        let host = self.base.cluster.host("windows1").unwrap();
        assert_eq!(host.left_behind(), [] as [&str; 0], "{printed}");
    }

    pub async fn apply_succeeds(&self, args: &[&str]) -> String {
        let output = self.apply(args).await;
        let printed = combined_output(&output);
        assert!(output.status.success(), "{printed}");
        printed
    }
}
