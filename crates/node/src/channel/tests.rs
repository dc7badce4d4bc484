//! A channel and a service on the simulated host, in this process.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use casement_resource::wire::{
    Decoder, Line, Outcome, PROTOCOL, RemoveWhat, ToAgent, ToController, What, encode,
};
use casement_resource::{NodeDocument, Secret, Sha256};

use super::Channel;
use crate::engine::documents::{full, windows_host};
use crate::serve::{Life, serve};
use crate::sim::{Door, Sim, door};
use crate::state::Layout;

const TOKEN: &str = "abcdef.0123456789abcdef";

/// A host with its service.
struct Host {
    sim: Arc<Sim>,
    door: Arc<Door>,
    folder: tempfile::TempDir,
}

impl Host {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let sim = Arc::new(Sim::new(windows_host()));
        let (door, listener) = door();
        let (platform, layout) = (Arc::clone(&sim), Layout::new(folder.path().to_owned()));
        thread::spawn(move || {
            let life = Life::UntilStopped;
            serve(platform, &layout, Box::new(listener), life).unwrap();
        });
        Self {
            sim,
            door: Arc::new(door),
            folder,
        }
    }

    /// Another controller with a channel of its own.
    fn call(&self) -> Controller {
        let (theirs, input) = io::pipe().unwrap();
        let (output, ours) = io::pipe().unwrap();
        let (sim, backstage) = (Arc::clone(&self.sim), Arc::clone(&self.door));
        let layout = Layout::new(self.folder.path().to_owned());
        thread::spawn(move || {
            let channel = Channel {
                platform: &*sim,
                layout: &layout,
                backstage,
                agent: Sha256::of(b"agent"),
                allowed: Ok(()),
            };
            let mut theirs = theirs;
            channel.run(&mut theirs, Box::new(ours)).unwrap();
        });
        Controller {
            input,
            output,
            decoder: Decoder::new(),
        }
    }

    fn greeted(&self) -> Controller {
        let mut controller = self.call();
        controller.say(&ToAgent::Hello {
            protocol: PROTOCOL,
            controller: "test".to_owned(),
        });
        assert!(matches!(controller.hear(), ToController::Hello { .. }));
        controller
    }
}

/// The controller's side.
struct Controller {
    input: PipeWriter,
    output: PipeReader,
    decoder: Decoder,
}

impl Controller {
    fn say(&mut self, message: &ToAgent) {
        self.input
            .write_all(encode(message).unwrap().as_bytes())
            .unwrap();
    }

    fn hear(&mut self) -> ToController {
        let mut buffer = [0; 4096];
        loop {
            if let Some(Line::Message(message)) = self.decoder.next_line().unwrap() {
                return message;
            }
            let count = self.output.read(&mut buffer).unwrap();
            assert!(count > 0, "the channel has ended");
            self.decoder.push(&buffer[..count]);
        }
    }

    fn event(&mut self) -> What {
        match self.hear() {
            ToController::Event(event) => event.what,
            other => panic!("no event: {other:?}"),
        }
    }

    fn until(&mut self, wanted: impl Fn(&What) -> bool) -> What {
        loop {
            let event = self.event();
            if wanted(&event) {
                return event;
            }
        }
    }

    fn converge(&mut self, run: &str, document: NodeDocument) {
        let run = run.parse().unwrap();
        self.say(&ToAgent::Converge { run, document });
    }

    fn send_token(&mut self) {
        let name = "token".parse().unwrap();
        let values = BTreeMap::from([(name, Secret::new(TOKEN.to_owned()))]);
        self.say(&ToAgent::Secrets { values });
    }

    fn outcome(&mut self) -> Outcome {
        match self.until(|event| matches!(event, What::Finished { .. })) {
            What::Finished { outcome, .. } => outcome,
            other => panic!("not the end: {other:?}"),
        }
    }
}

fn holds(folder: &Path, text: &str) -> bool {
    fs::read_dir(folder).unwrap().flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return holds(&path, text);
        }
        let bytes = fs::read(path).unwrap_or_default();
        bytes
            .windows(text.len())
            .any(|window| window == text.as_bytes())
    })
}

#[test]
fn a_run_asks_for_its_secret_and_keeps_it_nowhere() {
    let host = Host::new();
    let mut controller = host.greeted();
    controller.converge("r1", full());
    let asked = controller.until(|event| matches!(event, What::NeedSecret { .. }));
    assert!(matches!(asked, What::NeedSecret { names, .. } if names[0].as_str() == "token"));
    controller.send_token();
    assert_eq!(controller.outcome(), Outcome::Done);
    assert!(!holds(host.folder.path(), TOKEN));
    assert!(!format!("{:?}", host.sim.world()).contains("casement-join"));
    fs::write(host.folder.path().join("journal/planted"), TOKEN).unwrap();
    assert!(
        holds(host.folder.path(), TOKEN),
        "the search finds nothing at all"
    );
}

#[test]
fn a_run_that_waits_for_a_secret_can_be_stopped() {
    let host = Host::new();
    let mut controller = host.greeted();
    controller.converge("r1", full());
    controller.until(|event| matches!(event, What::NeedSecret { .. }));
    controller.say(&ToAgent::Stop {
        run: "r1".parse().unwrap(),
    });
    assert_eq!(controller.outcome(), Outcome::Stopped);
}

#[test]
fn a_run_whose_controller_went_before_it_sent_the_secret_gives_way_to_the_next() {
    let host = Host::new();
    let mut first = host.greeted();
    first.converge("r1", full());
    first.until(|event| matches!(event, What::NeedSecret { .. }));
    let mut second = host.greeted();
    second.converge("r2", full());
    assert!(
        matches!(second.hear(), ToController::Refused(_)),
        "the first one may still send it"
    );
    drop(first);
    // The service notices in its own time that the first one is gone.
    let asked = loop {
        second.converge("r2", full());
        match second.hear() {
            ToController::Refused(_) => thread::yield_now(),
            ToController::Event(event) => break event.what,
            other => panic!("neither refused nor begun: {other:?}"),
        }
    };
    assert!(!matches!(asked, What::Finished { .. }), "{asked:?}");
    second.until(|event| matches!(event, What::NeedSecret { .. }));
    second.send_token();
    assert_eq!(second.outcome(), Outcome::Done);
}

#[test]
fn a_host_with_something_to_take_back_cannot_be_retired() {
    let host = Host::new();
    let mut controller = host.greeted();
    controller.send_token();
    controller.converge("r1", full());
    assert_eq!(controller.outcome(), Outcome::Done);
    controller.say(&ToAgent::Retire);
    assert!(matches!(controller.hear(), ToController::Failed(_)));
    let run = "r2".parse().unwrap();
    controller.say(&ToAgent::Remove {
        run,
        what: RemoveWhat::All,
    });
    assert_eq!(controller.outcome(), Outcome::Done);
    controller.say(&ToAgent::Retire);
    assert_eq!(controller.hear(), ToController::Retired);
    assert!(!host.folder.path().exists());
    controller.say(&ToAgent::Bye);
    assert_eq!(controller.hear(), ToController::Bye);
}

#[test]
fn the_first_line_is_hello_in_the_right_protocol() {
    let host = Host::new();
    let mut controller = host.call();
    controller.say(&ToAgent::Retire);
    assert!(matches!(controller.hear(), ToController::Failed(_)));
    controller.say(&ToAgent::Hello {
        protocol: 99,
        controller: String::new(),
    });
    let ToController::Failed(failure) = controller.hear() else {
        panic!("another protocol was taken");
    };
    assert_eq!(
        (failure.wanted.as_deref(), failure.found.as_deref()),
        (Some("1"), Some("99"))
    );
}
