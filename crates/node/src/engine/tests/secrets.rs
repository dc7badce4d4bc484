//! Where secrets are written, and where not.

use std::fs;
use std::path::Path;

use casement_resource::wire::{Outcome, RemoveScope};
use casement_resource::{HostPath, NodeDocument, Resource, Step};

use super::{Rig, TOKEN, Task, changed, document, failed, hosts, windows_host};
use crate::engine::documents::{file, secret_file};
use crate::sim::{SimEntry, World};

const PATH: &str = r"C:\k\account.toml";

fn rotated(mut step: Step) -> Step {
    let Resource::SecretFile(file) = &mut step.resource else {
        panic!("not a secret file");
    };
    for fingerprint in file.fingerprints.values_mut() {
        "34cd".clone_into(fingerprint);
    }
    step
}

fn account() -> NodeDocument {
    document(vec![secret_file("account", PATH)])
}

/// The files of the host that contain the secret.
fn files_with_secret(world: &World) -> Vec<&HostPath> {
    let entries = world.entries.iter();
    let holds = entries.filter(|(_, (thing, _))| match thing {
        SimEntry::File(bytes) => String::from_utf8_lossy(bytes).contains(TOKEN),
        _ => false,
    });
    holds.map(|(path, _)| path).collect()
}

/// No file of the agent contains the secret: neither journal, order nor record.
fn assert_absent(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_absent(&path);
        } else {
            let text = fs::read(&path).unwrap();
            let text = String::from_utf8_lossy(&text);
            assert!(!text.contains(TOKEN), "{}", path.display());
        }
    }
}

#[test]
fn secret_is_only_in_its_file_for_administrators() {
    for (host, full) in hosts() {
        let mut rig = Rig::new(host.clone());
        let order = rig.order(Task::Converge(full.clone()));
        let (outcome, events) = rig.execute(&order).unwrap();
        assert_eq!(outcome, Outcome::Done, "{:?}", failed(&events));
        assert!(!format!("{events:?}").contains(TOKEN));
        let world = rig.sim.world();
        let [path] = files_with_secret(&world)[..] else {
            panic!("{:?}", files_with_secret(&world));
        };
        assert!(path.as_str().ends_with("account.toml"), "{path}");
        assert_eq!(world.entries[path].1, "administrators");
        assert_absent(rig.layout.root());
        let order = rig.order(Task::Remove(RemoveScope::All));
        let (outcome, events) = rig.execute(&order).unwrap();
        assert_eq!(outcome, Outcome::Done);
        assert!(!format!("{events:?}").contains(TOKEN));
        assert!(files_with_secret(&rig.sim.world()).is_empty());
        assert_absent(rig.layout.root());
        assert!(
            fs::read_dir(rig.layout.root().join("state/secrets"))
                .unwrap()
                .next()
                .is_none()
        );
    }
}

#[test]
fn changed_secret_is_written_again() {
    let mut rig = Rig::new(windows_host());
    rig.converge(&account());
    let (_, events) = rig.converge(&account());
    assert_eq!(changed(&events), Vec::<String>::new());
    let other = document(vec![rotated(secret_file("account", PATH))]);
    let (outcome, events) = rig.converge(&other);
    assert_eq!((outcome, changed(&events).len()), (Outcome::Done, 1));
    let (_, events) = rig.converge(&other);
    assert_eq!(changed(&events), Vec::<String>::new());
}

#[test]
fn modified_secret_file_is_written_again() {
    let mut rig = Rig::new(windows_host());
    rig.converge(&account());
    let wanted = rig.sim.world();
    rig.sim.modify_world(|world| {
        let entry = world.entries.get_mut(&PATH.parse().unwrap()).unwrap();
        entry.0 = SimEntry::File(b"password = \"theirs\"".to_vec());
    });
    let (outcome, events) = rig.converge(&account());
    assert_eq!((outcome, changed(&events).len()), (Outcome::Done, 1));
    assert_eq!(rig.sim.world(), wanted);
}

#[test]
fn file_becomes_a_secret_file_and_a_plain_file_again() {
    let mut rig = Rig::new(windows_host());
    let plain = document(vec![file("account", PATH, "none")]);
    for wanted in [&plain, &account(), &plain] {
        let (outcome, events) = rig.converge(wanted);
        assert_eq!((outcome, changed(&events).len()), (Outcome::Done, 1));
    }
    assert!(files_with_secret(&rig.sim.world()).is_empty());
    assert_absent(rig.layout.root());
    assert_eq!(rig.remove(), Outcome::Done);
    assert_eq!(rig.sim.world(), windows_host());
}
