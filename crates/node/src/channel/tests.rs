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
use crate::sim::{Sim, door};
use crate::state::Layout;

const TOKEN: &str = "abcdef.0123456789abcdef";

/// The controller's side.
struct Controller {
    input: PipeWriter,
    output: PipeReader,
    decoder: Decoder,
    sim: Arc<Sim>,
    folder: tempfile::TempDir,
}

impl Controller {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path().to_owned());
        let sim = Arc::new(Sim::new(windows_host()));
        let (theirs, input) = io::pipe().unwrap();
        let (output, ours) = io::pipe().unwrap();
        let (backstage, listener) = door();
        let host = Arc::clone(&sim);
        let service_layout = layout.clone();
        thread::spawn(move || {
            let life = Life::UntilStopped;
            serve(host, &service_layout, Box::new(listener), life).unwrap();
        });
        let host = Arc::clone(&sim);
        thread::spawn(move || {
            let channel = Channel {
                platform: &*host,
                layout: &layout,
                backstage: Arc::new(backstage),
                agent: Sha256::of(b"agent"),
            };
            let mut theirs = theirs;
            channel.run(&mut theirs, Box::new(ours)).unwrap();
        });
        Self {
            input,
            output,
            decoder: Decoder::new(),
            sim,
            folder,
        }
    }

    fn greeted() -> Self {
        let mut controller = Self::new();
        controller.say(&ToAgent::Hello {
            protocol: PROTOCOL,
            controller: "test".to_owned(),
        });
        assert!(matches!(controller.hear(), ToController::Hello { .. }));
        controller
    }

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

    fn converge(&mut self, document: NodeDocument) {
        let run = "r1".parse().unwrap();
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
    let mut controller = Controller::greeted();
    controller.converge(full());
    let asked = controller.until(|event| matches!(event, What::NeedSecret { .. }));
    assert!(matches!(asked, What::NeedSecret { names, .. } if names[0].as_str() == "token"));
    controller.send_token();
    assert_eq!(controller.outcome(), Outcome::Done);
    assert!(!holds(controller.folder.path(), TOKEN));
    assert!(!format!("{:?}", controller.sim.world()).contains("casement-join"));
    fs::write(controller.folder.path().join("journal/planted"), TOKEN).unwrap();
    assert!(
        holds(controller.folder.path(), TOKEN),
        "the search finds nothing at all"
    );
}

#[test]
fn a_run_that_waits_for_a_secret_can_be_stopped() {
    let mut controller = Controller::greeted();
    controller.converge(full());
    controller.until(|event| matches!(event, What::NeedSecret { .. }));
    controller.say(&ToAgent::Stop {
        run: "r1".parse().unwrap(),
    });
    assert_eq!(controller.outcome(), Outcome::Stopped);
}

#[test]
fn a_host_with_something_to_take_back_cannot_be_retired() {
    let mut controller = Controller::greeted();
    controller.send_token();
    controller.converge(full());
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
    assert!(!controller.folder.path().exists());
    controller.say(&ToAgent::Bye);
    assert_eq!(controller.hear(), ToController::Bye);
}

#[test]
fn the_first_line_is_hello_in_the_right_protocol() {
    let mut controller = Controller::new();
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
