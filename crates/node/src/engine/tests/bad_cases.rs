//! Faults of hosts: each is reported with its cause and a remedy, leaves no partial
//! change, and is repaired by the next run.

use std::fs;
use std::io::Write as _;

use casement_resource::wire::{Event, Outcome};
use casement_resource::{
    Artifact, ArtifactFormat, Code, Failure, Member, Resource, Run, Sha256, Step,
};
use casement_spec::NetworkMode;

use super::faults::windows_case;
use super::{Faults, Rig, Task, changed, document, failed, full, windows_host};
use crate::engine::documents::{file, service, step};
use crate::sim::SimEntry;

/// Has both values and a remedy.
fn assert_complete(failure: &Failure, code: Code) {
    assert_eq!(failure.code, code, "{failure:?}");
    assert!(failure.expected.is_some() && failure.found.is_some());
    assert_ne!(failure.expected, failure.found);
    assert!(!failure.help.is_empty());
}

fn one_failure(events: &[Event], id: &str) -> Failure {
    let mut failed = failed(events);
    let failure = failed.remove(id).unwrap();
    assert!(failed.is_empty(), "{failed:?}");
    failure
}

#[test]
fn full_disk_leaves_no_partial_file() {
    let case = windows_case(NetworkMode::L3Routes);
    for room in [0, 7, 40] {
        let mut rig = case.apply_with(Faults {
            max_file_bytes: Some(room),
            ..Faults::default()
        });
        assert_ne!(rig.sim.world(), case.wanted, "the disk was not full");
        for (path, (thing, _)) in rig.sim.world().entries {
            let whole = case.wanted.entries.get(&path).map(|(thing, _)| thing);
            let before = windows_host().entries.remove(&path);
            let before = before.map(|(thing, _)| thing);
            assert!(Some(&thing) == whole || Some(thing) == before, "{path}");
        }
        let (_, events) = rig.converge(&case.documents[0]);
        for failure in failed(&events).values() {
            assert_complete(failure, Code::System);
        }
        case.assert_recovers(&mut rig, &format!("{room} bytes"));
    }
}

#[test]
fn file_in_use_keeps_its_content_until_it_is_closed() {
    let mut rig = Rig::new(windows_host());
    let at = |text: &str| document(vec![file("config", r"C:\k\config", text)]);
    rig.converge(&at("one"));
    let before = rig.sim.world();
    rig.sim.set_faults(Faults {
        locked_file: Some(r"C:\k\config".to_owned()),
        ..Faults::default()
    });
    let (_, events) = rig.converge(&at("two"));
    let failure = one_failure(&events, "config");
    assert_complete(&failure, Code::System);
    assert!(failure.help.contains("has the file open"));
    assert_eq!(rig.sim.world(), before);
    assert_eq!(rig.remove(), Outcome::Failed);
    rig.sim.set_faults(Faults::default());
    assert_eq!(rig.converge(&at("two")).0, Outcome::Done);
    assert_eq!(rig.remove(), Outcome::Done);
    assert_eq!(rig.sim.world(), windows_host());
}

#[test]
fn service_stuck_in_stopping_is_reported_and_changed_later() {
    let mut rig = Rig::new(windows_host());
    let started = |argument: &str| {
        let mut step = service("kubelet", Run::Running, &[], &[]);
        if let Resource::Service(service) = &mut step.resource {
            service.definition.program.push(argument.to_owned());
        }
        document(vec![step])
    };
    assert_eq!(rig.converge(&started("-v=1")).0, Outcome::Done);
    rig.sim.set_faults(Faults {
        hanging_service: Some("kubelet".to_owned()),
        ..Faults::default()
    });
    let (_, events) = rig.converge(&started("-v=2"));
    let failure = one_failure(&events, "service kubelet");
    assert_complete(&failure, Code::TimedOut);
    assert_eq!(failure.found.as_deref(), Some("stopping"));
    let definition = rig.sim.world().services["kubelet"].definition.clone();
    assert!(definition.unwrap().program.contains(&"-v=1".to_owned()));
    rig.sim.set_faults(Faults::default());
    let (outcome, events) = rig.converge(&started("-v=2"));
    assert_eq!(
        (outcome, changed(&events)),
        (Outcome::Done, vec!["service kubelet".to_owned()])
    );
    assert_eq!(rig.remove(), Outcome::Done);
    assert_eq!(rig.sim.world(), windows_host());
}

/// Also stores the blob on the host.
fn artifact(rig: &Rig, blob: &[u8], format: ArtifactFormat) -> Step {
    fs::write(rig.layout.blob(&Sha256::of(blob)), blob).unwrap();
    let to = |name: &str| Member {
        from: name.to_owned(),
        to: format!("{name}.exe"),
        access: Default::default(),
    };
    step(
        "tools",
        Resource::Artifact(Artifact {
            sha256: Sha256::of(blob),
            size: blob.len() as u64,
            format,
            destination: r"C:\k\bin".parse().unwrap(),
            members: vec![to("one"), to("two")],
            access: Default::default(),
        }),
    )
}

fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    for (name, content) in entries {
        writer.start_file(*name, options).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn malicious_archive_writes_nothing() {
    let zeros = vec![0; 24 * 1024 * 1024];
    let bad: [&[(&str, &[u8])]; 4] = [
        &[("one", b"1"), ("two", &zeros)],
        &[("one", b"1"), ("two", b"2"), ("other", &zeros)],
        &[("one", b"1"), ("two", b"2"), (r"..\..\windows\evil", b"x")],
        &[("one", b"1"), ("two", b"2"), ("two:evil", b"x")],
    ];
    for entries in bad {
        let mut rig = Rig::new(windows_host());
        let step = artifact(&rig, &zip(entries), ArtifactFormat::Zip);
        let (_, events) = rig.converge(&document(vec![step]));
        assert_complete(&one_failure(&events, "tools"), Code::BlobMismatch);
        assert_eq!(rig.sim.world(), windows_host());
        let good = zip(&[("one", b"1"), ("two", b"2")]);
        let step = artifact(&rig, &good, ArtifactFormat::Zip);
        assert_eq!(rig.converge(&document(vec![step])).0, Outcome::Done);
        assert_eq!(rig.remove(), Outcome::Done);
        assert_eq!(rig.sim.world(), windows_host());
    }
}

#[test]
fn blob_with_wrong_hash_is_deleted_and_copied_again() {
    let mut rig = Rig::new(windows_host());
    let good = zip(&[("one", b"1"), ("two", b"2")]);
    let wanted = document(vec![artifact(&rig, &good, ArtifactFormat::Zip)]);
    let blob = rig.layout.blob(&Sha256::of(&good));
    fs::write(&blob, b"something else").unwrap();
    let (_, events) = rig.converge(&wanted);
    assert_complete(&one_failure(&events, "tools"), Code::BlobMismatch);
    assert!(!blob.exists());
    assert_eq!(rig.sim.world(), windows_host());
    fs::write(&blob, &good).unwrap();
    assert_eq!(rig.converge(&wanted).0, Outcome::Done);
    let one = rig.sim.world().entries[&r"C:\k\bin\one.exe".parse().unwrap()]
        .0
        .clone();
    assert_eq!(one, SimEntry::File(b"1".to_vec()));
}

/// Killed, and then the disk flips a bit of the journal.
#[test]
fn damaged_journal_does_not_block_the_next_run() {
    let wanted = {
        let mut rig = Rig::new(windows_host());
        rig.converge(&full());
        rig.sim.world()
    };
    for kill_at in [20, 60, 120] {
        let mut rig = Rig::new(windows_host());
        let order = rig.order(Task::Converge(full()));
        rig.sim.set_faults(Faults {
            kill_at: Some(kill_at),
            ..Faults::default()
        });
        assert!(rig.execute(&order).is_none());
        rig.sim.set_faults(Faults::default());
        let path = rig.layout.journal(&order.run);
        let mut bytes = fs::read(&path).unwrap();
        bytes[40] ^= 0x10;
        fs::write(&path, &bytes).unwrap();
        let failure = crate::state::journal::damage(&rig.layout).unwrap().unwrap();
        assert_complete(&failure, Code::State);
        assert_eq!(
            crate::state::journal::unfinished(&rig.layout).unwrap(),
            None
        );
        assert_eq!(
            rig.converge(&full()).0,
            Outcome::Done,
            "killed at {kill_at}"
        );
        assert_eq!(rig.sim.world(), wanted);
        assert_eq!(rig.remove(), Outcome::Done);
        assert_eq!(rig.sim.world(), windows_host());
    }
}
