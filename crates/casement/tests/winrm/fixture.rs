//! A simulated cluster whose Windows hosts are reached over WinRM alone.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::PipeReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use casement_node::state::Layout;
use casement_resource::{Blob, Sha256};
use casement_sim::{Console, SimCluster, SimHost, SimShape, SimSystem};
use tokio::task::AbortHandle;

use crate::host::{Host, Machine};
use crate::server::{PASSWORD, Server};
use crate::shell::Tap;
use crate::typed::{self, said};

/// A host of the simulated cluster, behind WinRM.
struct Simulated(Console);

impl Machine for Simulated {
    fn drive(&self) -> &Path {
        self.0.disk()
    }

    fn layout(&self) -> &Layout {
        self.0.layout()
    }

    fn boots(&self) -> u32 {
        self.0.boots()
    }

    fn carry(&self, wire: AbortHandle) {
        self.0.carry(wire);
    }

    fn channel(&self, agent: Sha256, stdin: &mut PipeReader, stdout: Tap) -> bool {
        self.0.channel(agent, stdin, Box::new(stdout))
    }

    fn receive(&self, expected: &Blob, stdin: &mut PipeReader, stdout: &mut Tap) -> bool {
        self.0.receive(expected, stdin, stdout)
    }
}

/// A cluster, the servers before its Windows hosts, and a file that names them.
pub struct Ground {
    pub cluster: SimCluster,
    pub servers: Vec<Server>,
    /// What commands find in their environment, beside what is there.
    pub environment: Vec<(&'static str, OsString)>,
    folder: tempfile::TempDir,
}

impl Ground {
    /// One Windows host for each, with TLS or without.
    pub async fn start(tls: &[bool]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let shape = SimShape {
            windows: tls.len(),
            ..SimShape::default()
        };
        let cluster = SimCluster::start(folder.path(), &shape).await;
        let cluster = cluster.unwrap();
        let mut servers = Vec::new();
        for (host, tls) in windows(&cluster).zip(tls) {
            // Nobody can come by the other door.
            host.unplug();
            let machine = Host::new(Simulated(host.console()));
            servers.push(Server::start(machine, host.spec().address, *tls).await);
        }
        let ground = Self {
            cluster,
            servers,
            environment: Vec::new(),
            folder,
        };
        std::fs::write(ground.at("password"), format!("{PASSWORD}\n")).unwrap();
        let file = std::fs::read_to_string(ground.at("cluster.yaml")).unwrap();
        std::fs::write(ground.at("cluster.yaml"), ground.over_winrm(&file)).unwrap();
        ground
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The Windows hosts.
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

    /// A command that stays on this machine, typed where the cluster file is.
    pub fn here(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_casement"));
        command.current_dir(self.folder.path()).args(words);
        command.envs(self.environment.iter().cloned());
        command
    }

    /// One that goes to hosts.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.here(words);
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

    /// Makes the page of the last run, and gives its text.
    pub async fn report(&self) -> String {
        typed::succeed(self.here(&["report", "--out", "report.html"])).await;
        std::fs::read_to_string(self.at("report.html")).unwrap()
    }

    /// What `apply` says on a file with something else in it, and fails.
    pub async fn refused(&self, change: impl Fn(&str) -> String) -> String {
        let file = std::fs::read_to_string(self.at("cluster.yaml")).unwrap();
        let changed = change(&file);
        std::fs::write(self.at("changed.yaml"), changed).unwrap();
        let output = self.run(&["apply", "--yes", "-f", "changed.yaml"]).await;
        let said = said(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.lines().count() <= 24, "more than a screen: {said}");
        assert!(said.contains("remedy"), "{said}");
        said
    }
}

fn windows(cluster: &SimCluster) -> impl Iterator<Item = &SimHost> {
    let hosts = cluster.hosts().iter();
    hosts.filter(|host| host.spec().system == SimSystem::Windows)
}
