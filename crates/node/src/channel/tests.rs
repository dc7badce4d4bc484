//! A channel and a service on a simulated host, in this process.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use casement_resource::wire::{
    Decoder, EventKind, Line, Outcome, PROTOCOL, RemoveScope, ToAgent, ToController, encode,
};
use casement_resource::{NodeDocument, Secret, Sha256};

use super::ChannelServer;
use crate::engine::documents::{full, windows_host};
use crate::serve::{Lifetime, serve};
use crate::sim::{Sim, SimService, sim_service};
use crate::state::Layout;

const TOKEN: &str = "abcdef.0123456789abcdef";

struct Host {
    sim: Arc<Sim>,
    sim_service: Arc<SimService>,
    folder: tempfile::TempDir,
}

impl Host {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let sim = Arc::new(Sim::new(windows_host()));
        let (sim_service, listener) = sim_service();
        let (platform, layout) = (Arc::clone(&sim), Layout::new(folder.path().to_owned()));
        thread::spawn(move || {
            let life = Lifetime::UntilStopped;
            serve(platform, &layout, Box::new(listener), life).unwrap();
        });
        Self {
            sim,
            sim_service: Arc::new(sim_service),
            folder,
        }
    }

    /// A controller with its own channel.
    fn connect(&self) -> Controller {
        let (channel_input, input) = io::pipe().unwrap();
        let (output, channel_output) = io::pipe().unwrap();
        let (sim, service_client) = (Arc::clone(&self.sim), Arc::clone(&self.sim_service));
        let layout = Layout::new(self.folder.path().to_owned());
        thread::spawn(move || {
            let channel = ChannelServer {
                platform: &*sim,
                layout: &layout,
                service_client,
                agent: Sha256::of(b"agent"),
                allowed: Ok(()),
            };
            let mut channel_input = channel_input;
            channel
                .run(&mut channel_input, Box::new(channel_output))
                .unwrap();
        });
        Controller {
            input,
            output,
            decoder: Decoder::new(),
        }
    }

    fn controller(&self) -> Controller {
        let mut controller = self.connect();
        controller.send(&ToAgent::Hello {
            protocol: PROTOCOL,
            controller: "test".to_owned(),
        });
        assert!(matches!(controller.receive(), ToController::Hello { .. }));
        controller
    }
}

struct Controller {
    input: PipeWriter,
    output: PipeReader,
    decoder: Decoder,
}

impl Controller {
    fn send(&mut self, message: &ToAgent) {
        self.input
            .write_all(encode(message).unwrap().as_bytes())
            .unwrap();
    }

    fn receive(&mut self) -> ToController {
        let mut buffer = [0; 4096];
        loop {
            if let Some(Line::Message(message)) = self.decoder.next_line().unwrap() {
                return message;
            }
            let count = self.output.read(&mut buffer).unwrap();
            assert!(count > 0, "the channel closed");
            self.decoder.push(&buffer[..count]);
        }
    }

    fn event(&mut self) -> EventKind {
        match self.receive() {
            ToController::Event(event) => event.kind,
            other => panic!("not an event: {other:?}"),
        }
    }

    fn until(&mut self, wanted: impl Fn(&EventKind) -> bool) -> EventKind {
        loop {
            let event = self.event();
            if wanted(&event) {
                return event;
            }
        }
    }

    fn converge(&mut self, run: &str, document: NodeDocument) {
        let run = run.parse().unwrap();
        self.send(&ToAgent::Converge { run, document });
    }

    fn send_token(&mut self) {
        let name = "token".parse().unwrap();
        let values = BTreeMap::from([(name, Secret::new(TOKEN.to_owned()))]);
        self.send(&ToAgent::Secrets { values });
    }

    fn outcome(&mut self) -> Outcome {
        match self.until(|event| matches!(event, EventKind::Finished { .. })) {
            EventKind::Finished { outcome, .. } => outcome,
            other => panic!("not finished: {other:?}"),
        }
    }
}

fn contains(folder: &Path, text: &str) -> bool {
    fs::read_dir(folder).unwrap().flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return contains(&path, text);
        }
        let bytes = fs::read(path).unwrap_or_default();
        bytes
            .windows(text.len())
            .any(|window| window == text.as_bytes())
    })
}

#[test]
fn run_requests_its_secret_and_never_stores_it() {
    let host = Host::new();
    let mut controller = host.controller();
    controller.converge("r1", full());
    let event = controller.until(|event| matches!(event, EventKind::NeedSecret { .. }));
    assert!(matches!(event, EventKind::NeedSecret { names, .. } if names[0].as_str() == "token"));
    controller.send_token();
    assert_eq!(controller.outcome(), Outcome::Done);
    assert!(!contains(host.folder.path(), TOKEN));
    assert!(!format!("{:?}", host.sim.world()).contains("casement-join"));
    fs::write(host.folder.path().join("journal/planted"), TOKEN).unwrap();
    assert!(
        contains(host.folder.path(), TOKEN),
        "the search itself is broken"
    );
}

#[test]
fn run_waiting_for_a_secret_can_be_stopped() {
    let host = Host::new();
    let mut controller = host.controller();
    controller.converge("r1", full());
    controller.until(|event| matches!(event, EventKind::NeedSecret { .. }));
    controller.send(&ToAgent::Stop {
        run: "r1".parse().unwrap(),
    });
    assert_eq!(controller.outcome(), Outcome::Stopped);
}

#[test]
fn run_without_controller_yields_to_the_next_while_waiting_for_a_secret() {
    let host = Host::new();
    let mut first = host.controller();
    first.converge("r1", full());
    first.until(|event| matches!(event, EventKind::NeedSecret { .. }));
    let mut second = host.controller();
    second.converge("r2", full());
    assert!(
        matches!(second.receive(), ToController::Refused(_)),
        "the first controller may still send it"
    );
    drop(first);
    // The service notices with a delay that the first controller is gone.
    let event = loop {
        second.converge("r2", full());
        match second.receive() {
            ToController::Refused(_) => thread::yield_now(),
            ToController::Event(event) => break event.kind,
            other => panic!("neither refused nor started: {other:?}"),
        }
    };
    assert!(!matches!(event, EventKind::Finished { .. }), "{event:?}");
    second.until(|event| matches!(event, EventKind::NeedSecret { .. }));
    second.send_token();
    assert_eq!(second.outcome(), Outcome::Done);
}

#[test]
fn host_with_records_cannot_be_retired() {
    let host = Host::new();
    let mut controller = host.controller();
    controller.send_token();
    controller.converge("r1", full());
    assert_eq!(controller.outcome(), Outcome::Done);
    controller.send(&ToAgent::Retire);
    assert!(matches!(controller.receive(), ToController::Failed(_)));
    let run = "r2".parse().unwrap();
    controller.send(&ToAgent::Remove {
        run,
        scope: RemoveScope::All,
    });
    assert_eq!(controller.outcome(), Outcome::Done);
    controller.send(&ToAgent::Retire);
    assert_eq!(controller.receive(), ToController::Retired);
    assert!(!host.folder.path().exists());
    controller.send(&ToAgent::Bye);
    assert_eq!(controller.receive(), ToController::Bye);
}

#[test]
fn first_message_must_be_hello_with_the_same_protocol() {
    let host = Host::new();
    let mut controller = host.connect();
    controller.send(&ToAgent::Retire);
    assert!(matches!(controller.receive(), ToController::Failed(_)));
    controller.send(&ToAgent::Hello {
        protocol: 99,
        controller: String::new(),
    });
    let ToController::Failed(failure) = controller.receive() else {
        panic!("another protocol version was accepted");
    };
    assert_eq!(
        (failure.expected.as_deref(), failure.found.as_deref()),
        (Some("1"), Some("99"))
    );
}
