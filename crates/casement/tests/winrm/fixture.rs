//! A simulated cluster whose Windows hosts are reachable over WinRM only.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::PipeReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use casement_node::state::Layout;
use casement_resource::{Blob, Sha256};
use casement_sim::{Console, SimCluster, SimHost, SimOptions, SimSystem};
use tokio::task::AbortHandle;

use crate::command::{self, combined_output};
use crate::host::{Backend, Host};
use crate::server::{PASSWORD, Server};
use crate::shell::OutputWriter;

/// A host of the simulated cluster behind the WinRM server.
struct Simulated(Console);

impl Backend for Simulated {
    fn drive(&self) -> &Path {
        self.0.disk()
    }

    fn layout(&self) -> &Layout {
        self.0.layout()
    }

    fn boots(&self) -> u32 {
        self.0.boots()
    }

    fn track_connection(&self, connection: AbortHandle) {
        self.0.track_connection(connection);
    }

    fn channel(&self, agent: Sha256, stdin: &mut PipeReader, stdout: OutputWriter) -> bool {
        self.0.channel(agent, stdin, Box::new(stdout))
    }

    fn receive(&self, expected: &Blob, stdin: &mut PipeReader, stdout: &mut OutputWriter) -> bool {
        self.0.receive(expected, stdin, stdout)
    }
}

/// A cluster, the WinRM servers in front of its Windows hosts, and a cluster file for
/// both.
pub struct Fixture {
    pub cluster: SimCluster,
    pub servers: Vec<Server>,
    /// Added to the environment of commands.
    pub environment: Vec<(&'static str, OsString)>,
    folder: tempfile::TempDir,
}

impl Fixture {
    /// One Windows host per element, with or without TLS.
    pub async fn start(tls: &[bool]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let shape = SimOptions {
            windows: tls.len(),
            ..SimOptions::default()
        };
        let cluster = SimCluster::start(folder.path(), &shape).await;
        let cluster = cluster.unwrap();
        let mut servers = Vec::new();
        for (host, tls) in windows(&cluster).zip(tls) {
            // Disables SSH.
            host.unplug();
            let server_host = Host::new(Simulated(host.console()));
            servers.push(Server::start(server_host, host.spec().address, *tls).await);
        }
        let fixture = Self {
            cluster,
            servers,
            environment: Vec::new(),
            folder,
        };
        std::fs::write(fixture.path("password"), format!("{PASSWORD}\n")).unwrap();
        let file = std::fs::read_to_string(fixture.path("cluster.yaml")).unwrap();
        std::fs::write(fixture.path("cluster.yaml"), fixture.over_winrm(&file)).unwrap();
        fixture
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn windows(&self) -> impl Iterator<Item = &SimHost> {
        windows(&self.cluster)
    }

    fn over_winrm(&self, file: &str) -> String {
        let mut text = file.to_owned();
        for (host, server) in self.windows().zip(&self.servers) {
            let ssh = format!("access: {{ssh: {{port: {}}}}}", host.port());
            let mut winrm = format!("port: {}", server.port);
            match &server.shared.certificate {
                Some(certificate) => {
                    let pin = Sha256::of(certificate);
                    let _ = write!(winrm, ", fingerprint: {pin}");
                }
                None => winrm.push_str(", transport: http"),
            }
            let access = format!("access: {{winrm: {{{winrm}, password: {{file: ./password}}}}}}");
            assert!(text.contains(&ssh), "{ssh} is not in {text}");
            text = text.replace(&ssh, &access);
        }
        text
    }

    /// A command without `--agent-dir`, in the folder of the cluster file.
    pub fn local_command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_casement"));
        command.current_dir(self.folder.path()).args(args);
        command.envs(self.environment.iter().cloned());
        command
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.local_command(args);
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

    /// Returns the HTML report of the last run.
    pub async fn report(&self) -> String {
        command::succeed(self.local_command(&["report", "--out", "report.html"])).await;
        std::fs::read_to_string(self.path("report.html")).unwrap()
    }

    /// Runs `apply` on an edited cluster file, expecting failure; returns the output.
    pub async fn apply_edited_fails(&self, edit: impl Fn(&str) -> String) -> String {
        let file = std::fs::read_to_string(self.path("cluster.yaml")).unwrap();
        let changed = edit(&file);
        std::fs::write(self.path("changed.yaml"), changed).unwrap();
        let output = self.run(&["apply", "--yes", "-f", "changed.yaml"]).await;
        let printed = combined_output(&output);
        assert_eq!(output.status.code(), Some(1), "{printed}");
        assert!(
            printed.lines().count() <= 24,
            "more than a screen: {printed}"
        );
        assert!(printed.contains("\n  help "), "{printed}");
        printed
    }
}

fn windows(cluster: &SimCluster) -> impl Iterator<Item = &SimHost> {
    let hosts = cluster.hosts().iter();
    hosts.filter(|host| host.spec().system == SimSystem::Windows)
}
