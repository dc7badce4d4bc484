//! An agent with its own state folder.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use casement_resource::{Condition, Resource, Step, Wait};

use crate::wire::{ChannelClient, step};

pub struct Agent {
    state: PathBuf,
    namespace: Option<Child>,
    variables: Vec<(&'static str, PathBuf)>,
}

impl Agent {
    pub fn new(folder: &Path) -> Self {
        Self {
            state: folder.join("state"),
            namespace: None,
            variables: Vec::new(),
        }
    }

    pub fn with_env(mut self, name: &'static str, value: impl Into<PathBuf>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// In a network namespace with the interface `eth0`, 198.18.0.1/24.
    pub fn in_namespace(folder: &Path) -> Self {
        let setup = "ip link set lo up && ip link add eth0 type veth peer name peer0 && ip link set peer0 up \
                     && ip address add 198.18.0.1/24 dev eth0 && ip link set eth0 up \
                     && mount -t sysfs none /sys && echo ready && exec sleep 1000000";
        let mut namespace = Command::new("unshare")
            .args([
                "--net",
                "--mount",
                "--kill-child",
                "--fork",
                "sh",
                "-c",
                setup,
            ])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = [0; 6];
        namespace
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut ready)
            .unwrap();
        assert_eq!(&ready, b"ready\n");
        let mut agent = Self::new(folder);
        agent.namespace = Some(namespace);
        agent
    }

    pub fn state(&self) -> &Path {
        &self.state
    }

    fn command(&self, program: &str) -> Command {
        let Some(namespace) = &self.namespace else {
            return Command::new(program);
        };
        // `unshare --fork` itself stays outside; its child is inside.
        let children = format!("/proc/{0}/task/{0}/children", namespace.id());
        let inside = fs::read_to_string(children).unwrap();
        let mut command = Command::new("nsenter");
        command
            .arg("--net")
            .arg("--mount")
            .arg("--target")
            .arg(inside.trim())
            .arg(program);
        command
    }

    /// Runs a program in the namespace of the agent.
    pub fn inside(&self, arguments: &[&str]) -> String {
        let output = self
            .command(arguments[0])
            .args(&arguments[1..])
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn channel(&self) -> ChannelClient {
        let program = fs::read(env!("CARGO_BIN_EXE_casement-node")).unwrap();
        let mut command = self.command(env!("CARGO_BIN_EXE_casement-node"));
        command.arg("--state-dir").arg(&self.state).arg("channel");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        ChannelClient::open(&mut command, &program)
    }

    pub fn kill_service(&self) {
        let pids = self.services();
        assert_eq!(pids.len(), 1, "{pids:?}");
        assert!(kill(pids[0]));
    }

    fn services(&self) -> Vec<u32> {
        let state = self.state.to_str().unwrap();
        let is_service = |pid: &u32| {
            let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let arguments: Vec<_> = line.split('\0').collect();
            arguments.contains(&state) && arguments.contains(&"serve")
        };
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(is_service).collect()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        for pid in self.services() {
            kill(pid);
        }
        if let Some(namespace) = &mut self.namespace {
            namespace.kill().unwrap();
            namespace.wait().unwrap();
        }
    }
}

fn kill(pid: u32) -> bool {
    Command::new("kill")
        .args(["-KILL", &pid.to_string()])
        .status()
        .unwrap()
        .success()
}

impl ChannelClient {
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

pub fn wait_for_file(id: &str, path: &Path) -> Step {
    let condition = Condition::FileExists(path.to_str().unwrap().parse().unwrap());
    step(
        id,
        Resource::Wait(Wait {
            condition,
            timeout_seconds: 60,
            help: None,
        }),
    )
}
