//! The controller side of an agent channel.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use casement_resource::wire::{
    Decoder, EventKind, Line, LockHolder, ObservedStep, PROTOCOL, RemoveScope, ToAgent,
    ToController, encode,
};
use casement_resource::{Access, File, NodeDocument, Resource, Sha256, Stage, Step};

pub struct ChannelClient {
    pub child: Child,
    input: ChildStdin,
    output: ChildStdout,
    decoder: Decoder,
    pub unfinished: Option<LockHolder>,
}

impl ChannelClient {
    /// Runs a command that starts `casement-node channel`, and sends `hello`.
    pub fn open(command: &mut Command, program: &[u8]) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut channel = Self {
            input: child.stdin.take().unwrap(),
            output: child.stdout.take().unwrap(),
            child,
            decoder: Decoder::new(),
            unfinished: None,
        };
        channel.send(&ToAgent::Hello {
            protocol: PROTOCOL,
            controller: "test".to_owned(),
        });
        let ToController::Hello {
            agent,
            facts,
            unfinished,
            ..
        } = channel.receive()
        else {
            panic!("not a hello");
        };
        assert_eq!(agent, Sha256::of(program));
        assert!(!facts.interfaces.is_empty());
        channel.unfinished = unfinished;
        channel
    }

    pub fn send(&mut self, message: &ToAgent) {
        self.input
            .write_all(encode(message).unwrap().as_bytes())
            .unwrap();
    }

    pub fn receive(&mut self) -> ToController {
        let mut buffer = [0; 4096];
        loop {
            match self.decoder.next_line().unwrap() {
                Some(Line::Message(message)) => return message,
                Some(Line::Noise(noise)) => panic!("noise: {noise}"),
                None => {
                    let count = self.output.read(&mut buffer).unwrap();
                    assert!(count > 0, "the channel closed");
                    self.decoder.push(&buffer[..count]);
                }
            }
        }
    }

    pub fn event(&mut self) -> EventKind {
        match self.receive() {
            ToController::Event(event) => event.kind,
            other => panic!("not an event: {other:?}"),
        }
    }

    /// All events up to `Finished`.
    pub fn events(&mut self) -> Vec<EventKind> {
        let mut events = vec![self.event()];
        while !matches!(events.last(), Some(EventKind::Finished { .. })) {
            events.push(self.event());
        }
        events
    }

    pub fn observe(&mut self, document: &NodeDocument) -> (Vec<ObservedStep>, Vec<Sha256>) {
        self.send(&ToAgent::Observe {
            document: document.clone(),
        });
        match self.receive() {
            ToController::Observed {
                steps,
                missing_blobs,
                ..
            } => (steps, missing_blobs),
            other => panic!("not observed: {other:?}"),
        }
    }

    pub fn converge(&mut self, run: &str, document: &NodeDocument) -> Vec<EventKind> {
        let (run, document) = (run.parse().unwrap(), document.clone());
        self.send(&ToAgent::Converge { run, document });
        self.events()
    }

    pub fn remove(&mut self, run: &str) -> Vec<EventKind> {
        self.send(&ToAgent::Remove {
            run: run.parse().unwrap(),
            scope: RemoveScope::All,
        });
        self.events()
    }

    pub fn bye(mut self) {
        self.send(&ToAgent::Bye);
        assert_eq!(self.receive(), ToController::Bye);
        assert!(self.child.wait().unwrap().success());
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
