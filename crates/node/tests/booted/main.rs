//! The Linux agent on a whole host: a Debian tree that systemd-nspawn boots, with
//! systemd as its process 1, a kernel network of its own, and no way out of it.
//!
//! What would change the machine that the test runs on (kernel modules, swap areas,
//! dnf) is tried with stand-ins instead (`src/linux/stand_ins`); `docs/linux-coverage.md`
//! says which.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod machine;
#[path = "foreign.rs"]
mod planted;
mod snapshot;
#[path = "desired.rs"]
mod wanted;
#[path = "../channel/wire.rs"]
mod wire;

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use casement_resource::wire::{ObservedStep, Outcome, ToAgent, ToController, What};
use casement_resource::{NodeDocument, Secret, SecretName};
use machine::Machine;
use snapshot::{Files, Snapshot, Times};
use wanted::wanted;
use wire::Channel;

fn assert_done(events: &[What]) {
    let done = matches!(
        events.last(),
        Some(What::Finished {
            outcome: Outcome::Done,
            ..
        })
    );
    let failed = |what: &&What| matches!(what, What::StepFailed { .. });
    let failed: Vec<_> = events.iter().filter(failed).collect();
    assert!(done, "{failed:#?}");
}

fn is_right(step: &ObservedStep) -> bool {
    step.seen.as_ref().unwrap().is_right()
}

/// Makes a document, and gives the secret to the agent that asks for it.
fn converge(channel: &mut Channel, run: &str, document: &NodeDocument) -> Vec<What> {
    let (run, document) = (run.parse().unwrap(), document.clone());
    channel.say(&ToAgent::Converge { run, document });
    let mut events = Vec::new();
    while !matches!(events.last(), Some(What::Finished { .. })) {
        let event = channel.event();
        if let What::NeedSecret { names, .. } = &event {
            let value = |name: &SecretName| (name.clone(), Secret::new(wanted::SECRET.to_owned()));
            let values = names.iter().map(value).collect();
            channel.say(&ToAgent::Secrets { values });
        }
        events.push(event);
    }
    events
}

fn has_secret(bytes: &[u8]) -> bool {
    String::from_utf8_lossy(bytes).contains("s3cret")
}

/// What the agent keeps for itself has no secret in it.
fn assert_no_secret(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_no_secret(&path);
        } else if path.is_file() {
            let bytes = fs::read(&path).unwrap();
            assert!(!has_secret(&bytes), "{}", path.display());
        }
    }
}

/// A log that is full is turned over under the program that appends to it.
fn fill_log(machine: &Machine) {
    let log = machine.root().join("var/tried-log/server.log");
    let mut open = File::options().append(true).open(&log).unwrap();
    open.write_all(&vec![b'x'; 11 << 20]).unwrap();
    machine.wait_until("a full log is turned over", |_| {
        let older = fs::metadata(log.with_extension("log.1"));
        older.is_ok_and(|it| it.len() > 10 << 20) && fs::metadata(&log).unwrap().len() == 0
    });
    machine.inside(&["systemctl", "restart", "tried-plain"]);
    machine.wait_until("the log is gone on with", |_| {
        let said = fs::read_to_string(&log).unwrap();
        said.starts_with("hello there ")
    });
}

/// One story, because a boot takes its time: what is looked at, made, looked at
/// again, broken, rebooted, mended and taken back is one host.
#[test]
#[ignore = "needs root, systemd-nspawn and a Debian mirror"]
fn a_booted_host_is_made_kept_and_given_back() {
    let mut machine = Machine::new();
    planted::before_boot(&machine);
    machine.boot();
    planted::after_boot(&machine);
    let before = Snapshot::of(&machine);

    machine.bring_agent();
    let mut channel = machine.channel();
    machine.bring_blobs(&wanted::blobs());
    let document = wanted();

    // Looking, when all is to be made.
    let untouched = Files::below(machine.root(), Times::Kept);
    let (steps, missing) = channel.observe(&document);
    let right: Vec<_> = steps.iter().filter(|step| is_right(step)).collect();
    assert!(right.is_empty() && missing.is_empty(), "{right:?}");
    untouched.assert_same(&Files::below(machine.root(), Times::Kept), "a look");

    let events = converge(&mut channel, "r1", &document);
    assert_done(&events);
    // By the time that somebody waits for them, they hold.
    let right = events.iter().filter_map(|what| match what {
        What::StepRight { id, .. } => Some(id.as_str()),
        _ => None,
    });
    let right: Vec<_> = right.collect();
    assert!(right.iter().all(|id| id.starts_with("wait ")), "{right:?}");
    wanted::assert_made(&machine);
    assert_no_secret(&machine.root().join("var/lib/casement"));
    let said = machine.inside(&["journalctl", "--output=cat"]);
    assert!(!has_secret(said.as_bytes()), "{said}");
    fill_log(&machine);

    // Looking, when all is there.
    let made = Files::below(machine.root(), Times::Kept);
    let (steps, _) = channel.observe(&document);
    let wrong: Vec<_> = steps.iter().filter(|step| !is_right(step)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    made.assert_same(&Files::below(machine.root(), Times::Kept), "a look");

    // Once more: nothing to do, and a reason for each.
    let events = channel.converge("r2", &document);
    assert_done(&events);
    let changed = |what: &&What| matches!(what, What::StepChanged { .. });
    assert_eq!(events.iter().filter(changed).count(), 0, "{events:#?}");
    let reasons = events
        .iter()
        .filter(|what| matches!(what, What::StepRight { reason, .. } if !reason.is_empty()));
    assert_eq!(reasons.count(), document.steps().len());
    channel.bye();

    // Something drifts while the host is down, and links and routes go with a boot.
    fs::write(machine.root().join(wanted::DRIFTS), "theirs\n").unwrap();
    machine.reboot();
    machine.wait_until("the keeper has repaired the host", |machine| {
        let mut channel = machine.channel();
        let (steps, _) = channel.observe(&wanted());
        channel.bye();
        steps.iter().all(is_right)
    });
    wanted::assert_made(&machine);
    let said = machine.inside(&["journalctl", "--unit=casement", "--output=cat"]);
    assert!(said.contains("Repaired: "), "{said}");

    let mut channel = machine.channel();
    assert_done(&channel.remove("r3"));
    channel.say(&ToAgent::Retire);
    assert_eq!(channel.hear(), ToController::Retired);
    channel.bye();
    machine.take_agent();
    before.assert_same(&Snapshot::of(&machine));
}
