//! An agent in a folder of its own, and the controller's side of its channel.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use casement_resource::wire::{
    Decoder, Line, LockHolder, ObservedStep, PROTOCOL, ToAgent, ToController, What, encode,
};
use casement_resource::{
    Access, Condition, File, NodeDocument, Resource, Sha256, Stage, Step, Wait,
};

pub struct Agent {
    state: PathBuf,
    namespace: Option<Child>,
}

impl Agent {
    pub fn new(folder: &Path) -> Self {
        Self {
            state: folder.join("state"),
            namespace: None,
        }
    }

    /// In a network namespace with one interface, `eth0`, 198.18.0.1/24.
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
        // `unshare --fork` stays outside; its child is inside.
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

    /// Runs a program where the agent is.
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

    /// Opens a channel and greets.
    pub fn channel(&self) -> Channel {
        let mut child = self
            .command(env!("CARGO_BIN_EXE_casement-node"))
            .arg("--state-dir")
            .arg(&self.state)
            .arg("channel")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut channel = Channel {
            input: child.stdin.take().unwrap(),
            output: child.stdout.take().unwrap(),
            child,
            decoder: Decoder::new(),
            unfinished: None,
        };
        channel.say(&ToAgent::Hello {
            protocol: PROTOCOL,
            controller: "test".to_owned(),
        });
        let ToController::Hello {
            agent,
            facts,
            unfinished,
            ..
        } = channel.hear()
        else {
            panic!("no hello");
        };
        let program = fs::read(env!("CARGO_BIN_EXE_casement-node")).unwrap();
        assert_eq!(agent, Sha256::of(&program));
        assert!(!facts.interfaces.is_empty());
        channel.unfinished = unfinished;
        channel
    }

    /// Ends the service as a crash would.
    pub fn kill_service(&self) {
        let pids = self.services();
        assert_eq!(pids.len(), 1, "{pids:?}");
        assert!(kill(pids[0]));
    }

    fn services(&self) -> Vec<u32> {
        let state = self.state.to_str().unwrap();
        let is_service = |pid: &u32| {
            let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words: Vec<_> = line.split('\0').collect();
            words.contains(&state) && words.contains(&"serve")
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

pub struct Channel {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    decoder: Decoder,
    pub unfinished: Option<LockHolder>,
}

impl Channel {
    pub fn say(&mut self, message: &ToAgent) {
        self.input
            .write_all(encode(message).unwrap().as_bytes())
            .unwrap();
    }

    pub fn hear(&mut self) -> ToController {
        let mut buffer = [0; 4096];
        loop {
            match self.decoder.next_line().unwrap() {
                Some(Line::Message(message)) => return message,
                Some(Line::Noise(noise)) => panic!("noise: {noise}"),
                None => {
                    let count = self.output.read(&mut buffer).unwrap();
                    assert!(count > 0, "the channel has ended");
                    self.decoder.push(&buffer[..count]);
                }
            }
        }
    }

    pub fn event(&mut self) -> What {
        match self.hear() {
            ToController::Event(event) => event.what,
            other => panic!("no event: {other:?}"),
        }
    }

    /// All events to the end of the run.
    pub fn events(&mut self) -> Vec<What> {
        let mut events = vec![self.event()];
        while !matches!(events.last(), Some(What::Finished { .. })) {
            events.push(self.event());
        }
        events
    }

    pub fn observe(&mut self, document: &NodeDocument) -> (Vec<ObservedStep>, Vec<Sha256>) {
        self.say(&ToAgent::Observe {
            document: document.clone(),
        });
        match self.hear() {
            ToController::Observed {
                steps,
                missing_blobs,
                ..
            } => (steps, missing_blobs),
            other => panic!("not observed: {other:?}"),
        }
    }

    pub fn converge(&mut self, run: &str, document: &NodeDocument) -> Vec<What> {
        let (run, document) = (run.parse().unwrap(), document.clone());
        self.say(&ToAgent::Converge { run, document });
        self.events()
    }

    pub fn bye(mut self) {
        self.say(&ToAgent::Bye);
        assert_eq!(self.hear(), ToController::Bye);
        assert!(self.child.wait().unwrap().success());
    }

    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

pub fn document(steps: Vec<Step>) -> NodeDocument {
    NodeDocument::new("lin1".to_owned(), Stage::Prepare, steps).unwrap()
}

pub fn step(id: &str, resource: Resource) -> Step {
    Step {
        id: id.parse().unwrap(),
        after: Vec::new(),
        disruptive: false,
        resource,
    }
}

pub fn file(id: &str, path: &str, content: &str) -> Step {
    step(
        id,
        Resource::File(File {
            path: path.parse().unwrap(),
            content: content.into(),
            access: Access::Inherited,
        }),
    )
}

pub fn wait_for_file(id: &str, path: &Path) -> Step {
    let condition = Condition::FileExists(path.to_str().unwrap().parse().unwrap());
    step(
        id,
        Resource::Wait(Wait {
            condition,
            timeout_seconds: 60,
            remedy: None,
        }),
    )
}

/// A tar.gz with one file.
pub fn artifact_blob(name: &str, content: &[u8]) -> Vec<u8> {
    let encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut archive = tar::Builder::new(encoder);
    let mut header = tar::Header::new_gnu();
    header.set_size(content.len() as u64);
    header.set_mode(0o755);
    archive.append_data(&mut header, name, content).unwrap();
    archive.into_inner().unwrap().finish().unwrap()
}
