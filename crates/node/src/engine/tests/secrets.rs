//! Secrets: where they are written, and where they are not.

use std::fs;
use std::path::Path;

use casement_resource::wire::{Outcome, RemoveWhat};
use casement_resource::{HostPath, NodeDocument, Resource, Step};

use super::{Rig, TOKEN, Task, changed, document, failed, hosts, windows_host};
use crate::engine::documents::{file, secret_file};
use crate::sim::{Thing, World};

const PLACE: &str = r"C:\k\account.toml";

fn rotated(mut step: Step) -> Step {
    let Resource::SecretFile(file) = &mut step.resource else {
        panic!("no file with secrets");
    };
    for fingerprint in file.fingerprints.values_mut() {
        "34cd".clone_into(fingerprint);
    }
    step
}

fn account() -> NodeDocument {
    document(vec![secret_file("account", PLACE)])
}

/// The files of a simulated host whose bytes have the secret.
fn holders(world: &World) -> Vec<&HostPath> {
    let entries = world.entries.iter();
    let holds = entries.filter(|(_, (thing, _))| match thing {
        Thing::File(bytes) => String::from_utf8_lossy(bytes).contains(TOKEN),
        _ => false,
    });
    holds.map(|(path, _)| path).collect()
}

/// No file of the agent's own has it: neither journal, order, record nor note.
fn assert_nowhere_in(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_nowhere_in(&path);
        } else {
            let text = fs::read(&path).unwrap();
            let text = String::from_utf8_lossy(&text);
            assert!(!text.contains(TOKEN), "{}", path.display());
        }
    }
}

#[test]
fn a_secret_is_in_its_own_file_for_administrators_and_nowhere_else() {
    for (host, full) in hosts() {
        let mut rig = Rig::new(host.clone());
        let order = rig.order(Task::Converge(full.clone()));
        let (outcome, events) = rig.carry_out(&order).unwrap();
        assert_eq!(outcome, Outcome::Done, "{:?}", failed(&events));
        assert!(!format!("{events:?}").contains(TOKEN));
        let world = rig.sim.world();
        let [holder] = holders(&world)[..] else {
            panic!("{:?}", holders(&world));
        };
        assert!(holder.as_str().ends_with("account.toml"), "{holder}");
        assert_eq!(world.entries[holder].1, "administrators");
        assert_nowhere_in(rig.layout.root());
        let order = rig.order(Task::Remove(RemoveWhat::All));
        let (outcome, events) = rig.carry_out(&order).unwrap();
        assert_eq!(outcome, Outcome::Done);
        assert!(!format!("{events:?}").contains(TOKEN));
        assert!(holders(&rig.sim.world()).is_empty());
        assert_nowhere_in(rig.layout.root());
        assert!(
            fs::read_dir(rig.layout.root().join("state/secrets"))
                .unwrap()
                .next()
                .is_none()
        );
    }
}

#[test]
fn a_secret_that_was_changed_is_written_anew() {
    let mut rig = Rig::new(windows_host());
    rig.converge(&account());
    let (_, events) = rig.converge(&account());
    assert_eq!(changed(&events), Vec::<String>::new());
    let other = document(vec![rotated(secret_file("account", PLACE))]);
    let (outcome, events) = rig.converge(&other);
    assert_eq!((outcome, changed(&events).len()), (Outcome::Done, 1));
    let (_, events) = rig.converge(&other);
    assert_eq!(changed(&events), Vec::<String>::new());
}

#[test]
fn a_file_that_somebody_changed_is_written_anew() {
    let mut rig = Rig::new(windows_host());
    rig.converge(&account());
    let wanted = rig.sim.world();
    rig.sim.meddle(|world| {
        let entry = world.entries.get_mut(&PLACE.parse().unwrap()).unwrap();
        entry.0 = Thing::File(b"password = \"theirs\"".to_vec());
    });
    let (outcome, events) = rig.converge(&account());
    assert_eq!((outcome, changed(&events).len()), (Outcome::Done, 1));
    assert_eq!(rig.sim.world(), wanted);
}

/// A configuration that gets an account, and loses it again.
#[test]
fn a_plain_file_becomes_one_with_secrets_and_a_plain_one_again() {
    let mut rig = Rig::new(windows_host());
    let plain = document(vec![file("account", PLACE, "none")]);
    for wanted in [&plain, &account(), &plain] {
        let (outcome, events) = rig.converge(wanted);
        assert_eq!((outcome, changed(&events).len()), (Outcome::Done, 1));
    }
    assert!(holders(&rig.sim.world()).is_empty());
    assert_nowhere_in(rig.layout.root());
    assert_eq!(rig.remove(), Outcome::Done);
    assert_eq!(rig.sim.world(), windows_host());
}
