//! The Linux agent on a whole host: a Debian tree booted by systemd-nspawn, with
//! systemd as process 1 and an isolated network namespace.
//!
//! Kinds that would change the host of the test (kernel modules, swap areas, dnf) are
//! tested with fakes in `src/linux`; see `docs/linux-coverage.md`.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

mod desired;
mod foreign;
mod machine;
mod snapshot;
#[path = "../channel/wire.rs"]
mod wire;

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use casement_resource::wire::{EventKind, ObservedStep, Outcome, ToAgent, ToController};
use casement_resource::{NodeDocument, Secret, SecretName};
use desired::desired;
use machine::Machine;
use snapshot::{Files, Snapshot, Times};
use wire::ChannelClient;

fn assert_done(events: &[EventKind]) {
    let done = matches!(
        events.last(),
        Some(EventKind::Finished {
            outcome: Outcome::Done,
            ..
        })
    );
    let failed = |what: &&EventKind| matches!(what, EventKind::StepFailed { .. });
    let failed: Vec<_> = events.iter().filter(failed).collect();
    assert!(done, "{failed:#?}");
}

fn in_sync(step: &ObservedStep) -> bool {
    step.result.as_ref().unwrap().in_sync()
}

/// Applies a document and sends requested secrets.
fn converge(channel: &mut ChannelClient, run: &str, document: &NodeDocument) -> Vec<EventKind> {
    let (run, document) = (run.parse().unwrap(), document.clone());
    channel.send(&ToAgent::Converge { run, document });
    let mut events = Vec::new();
    while !matches!(events.last(), Some(EventKind::Finished { .. })) {
        let event = channel.event();
        if let EventKind::NeedSecret { names, .. } = &event {
            let value = |name: &SecretName| (name.clone(), Secret::new(desired::SECRET.to_owned()));
            let values = names.iter().map(value).collect();
            channel.send(&ToAgent::Secrets { values });
        }
        events.push(event);
    }
    events
}

fn has_secret(bytes: &[u8]) -> bool {
    String::from_utf8_lossy(bytes).contains("s3cret")
}

/// The state folder of the agent contains no secret.
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

/// A full log is rotated while the program appends to it.
fn assert_log_rotation(machine: &Machine) {
    let log = machine.root().join("var/tried-log/server.log");
    let mut open = File::options().append(true).open(&log).unwrap();
    open.write_all(&vec![b'x'; 11 << 20]).unwrap();
    machine.wait_until("the full log is rotated", |_| {
        let older = fs::metadata(log.with_extension("log.1"));
        older.is_ok_and(|it| it.len() > 10 << 20) && fs::metadata(&log).unwrap().len() == 0
    });
    machine.inside(&["systemctl", "restart", "tried-plain"]);
    machine.wait_until("the program writes to the new log", |_| {
        let text = fs::read_to_string(&log).unwrap();
        text.starts_with("hello there ")
    });
}

/// One test for the whole life cycle, because a boot is slow: observe, apply, observe,
/// drift, reboot, repair, remove.
#[test]
#[ignore = "needs root, systemd-nspawn and a Debian mirror"]
fn booted_host_is_applied_repaired_and_restored() {
    let mut machine = Machine::new();
    foreign::before_boot(&machine);
    machine.boot();
    foreign::after_boot(&machine);
    let before = Snapshot::of(&machine);

    machine.install_agent();
    let mut channel = machine.channel();
    machine.store_blobs(&desired::blobs());
    let document = desired();

    // Observe before the first apply.
    let untouched = Files::below(machine.root(), Times::Compared);
    let (steps, missing) = channel.observe(&document);
    let unchanged: Vec<_> = steps.iter().filter(|step| in_sync(step)).collect();
    assert!(unchanged.is_empty() && missing.is_empty(), "{unchanged:?}");
    untouched.assert_same(&Files::below(machine.root(), Times::Compared), "observe");

    let events = converge(&mut channel, "r1", &document);
    assert_done(&events);
    // Conditions of waits are met by then.
    let unchanged = events.iter().filter_map(|what| match what {
        EventKind::StepInSync { id, .. } => Some(id.as_str()),
        _ => None,
    });
    let unchanged: Vec<_> = unchanged.collect();
    assert!(
        unchanged.iter().all(|id| id.starts_with("wait ")),
        "{unchanged:?}"
    );
    desired::assert_applied(&machine);
    assert_no_secret(&machine.root().join("var/lib/casement"));
    let log = machine.inside(&["journalctl", "--output=cat"]);
    assert!(!has_secret(log.as_bytes()), "{log}");
    assert_log_rotation(&machine);

    // Observe after the apply.
    let applied = Files::below(machine.root(), Times::Compared);
    let (steps, _) = channel.observe(&document);
    let drifted: Vec<_> = steps.iter().filter(|step| !in_sync(step)).collect();
    assert!(drifted.is_empty(), "{drifted:#?}");
    applied.assert_same(&Files::below(machine.root(), Times::Compared), "observe");

    // A second apply changes nothing and reports a reason for each step.
    let events = channel.converge("r2", &document);
    assert_done(&events);
    let changed = |what: &&EventKind| matches!(what, EventKind::StepChanged { .. });
    assert_eq!(events.iter().filter(changed).count(), 0, "{events:#?}");
    let reasons = events
        .iter()
        .filter(|what| matches!(what, EventKind::StepInSync { reason, .. } if !reason.is_empty()));
    assert_eq!(reasons.count(), document.steps().len());
    channel.bye();

    // A file drifts, and the reboot removes links and routes.
    fs::write(machine.root().join(desired::DRIFTS), "theirs\n").unwrap();
    machine.reboot();
    machine.wait_until("the agent has repaired the host", |machine| {
        let mut channel = machine.channel();
        let (steps, _) = channel.observe(&desired());
        channel.bye();
        steps.iter().all(in_sync)
    });
    desired::assert_applied(&machine);
    let log = machine.inside(&["journalctl", "--unit=casement", "--output=cat"]);
    assert!(log.contains("Repaired: "), "{log}");

    let mut channel = machine.channel();
    assert_done(&channel.remove("r3"));
    channel.send(&ToAgent::Retire);
    assert_eq!(channel.receive(), ToController::Retired);
    channel.bye();
    machine.remove_agent();
    before.assert_same(&Snapshot::of(&machine));
}
