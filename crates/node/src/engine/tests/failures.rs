//! Failures on a host and how they are reported.

use casement_resource::wire::{EventKind, Outcome};
use casement_resource::{Code, Condition, HnsNetworkFacts, Resource, RouteEntry, Run, Step, Wait};

use super::{Rig, changed, document, failed, with_after};
use crate::engine::documents::{self, directory, env, file, full, service, step, windows_host};
use crate::sim::{Faults, SimEntry};

#[test]
fn false_success_is_detected() {
    for name in [
        "set_env",
        "write",
        "install_service",
        "create_hns_network",
        "add_route",
        "set_forwarding",
    ] {
        let mut rig = Rig::new(windows_host());
        rig.sim.set_faults(Faults {
            ignored: Some(name.to_owned()),
            ..Faults::default()
        });
        let (outcome, events) = rig.converge(&full());
        assert_eq!(outcome, Outcome::Failed, "{name}");
        assert!(!failed(&events).is_empty(), "{name}");
    }
    let mut rig = Rig::new(windows_host());
    rig.sim.set_faults(Faults {
        ignored: Some("set_env".to_owned()),
        ..Faults::default()
    });
    let (_, events) = rig.converge(&document(vec![env("a", "A", "1")]));
    let failure = failed(&events).remove("a").unwrap();
    assert_eq!(failure.code, Code::NotConverged);
    assert_eq!(failure.expected.unwrap(), "value: 1");
    assert_eq!(failure.found.unwrap(), "value: nothing");
}

#[test]
fn failure_blocks_only_dependent_steps() {
    let mut rig = Rig::new(windows_host());
    rig.sim.set_faults(Faults {
        failing: Some("set_env A".to_owned()),
        ..Faults::default()
    });
    let (outcome, events) = rig.converge(&document(vec![
        env("a", "A", "1"),
        with_after(env("b", "B", "1"), &["a"]),
        with_after(env("c", "C", "1"), &["b"]),
        env("d", "D", "1"),
    ]));
    assert_eq!(outcome, Outcome::Failed);
    assert_eq!(changed(&events), ["d"]);
    let skipped: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::StepSkipped { id, because, .. } => Some((id.as_str(), because.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(skipped, [("b", "a"), ("c", "a")]);
    let EventKind::Finished { tally, .. } = events.last().unwrap().kind else {
        panic!("the last event is not `Finished`");
    };
    assert_eq!((tally.changed, tally.failed, tally.skipped), (1, 1, 2));
}

#[test]
fn foreign_objects_that_differ_are_reported_and_kept() {
    let mut world = windows_host();
    world.networks.push(HnsNetworkFacts {
        id: "theirs".to_owned(),
        name: "cbr0".to_owned(),
        network_type: "NAT".to_owned(),
        subnets: Vec::new(),
        management_address: None,
    });
    world.routes.push(RouteEntry {
        destination: "10.244.2.0/24".parse().unwrap(),
        next_hop: Some("198.18.0.99".parse().unwrap()),
        interface_index: 7,
    });
    world.entries.insert(
        r"C:\etc".parse().unwrap(),
        (SimEntry::Directory, "everybody".to_owned()),
    );
    let foreign = (SimEntry::Directory, "untrusted".to_owned());
    world
        .entries
        .insert(r"C:\etc\kubernetes".parse().unwrap(), foreign);
    let mut rig = Rig::new(world.clone());
    let without_dependencies = |step: &Step| match step.id.as_str() {
        "route" => with_after(step.clone(), &[]),
        _ => step.clone(),
    };
    let full = document(full().steps().iter().map(without_dependencies).collect());
    for _ in 0..2 {
        let (outcome, events) = rig.converge(&full);
        assert_eq!(outcome, Outcome::Failed);
        let failed = failed(&events);
        assert_eq!(failed["network"].code, Code::Foreign);
        assert_eq!(failed["route"].code, Code::Foreign);
        assert!(
            failed["route"]
                .found
                .as_ref()
                .unwrap()
                .contains("198.18.0.99")
        );
        assert_eq!(failed["kubernetes"].code, Code::Untrusted);
    }
    assert_eq!(rig.remove(), Outcome::Done);
    assert_eq!(rig.sim.world(), world);
}

#[test]
fn objects_already_in_sync_survive_removal() {
    let mut world = windows_host();
    let folder = (SimEntry::Directory, "administrators".to_owned());
    world.entries.insert(r"C:\theirs".parse().unwrap(), folder);
    world.variables.insert("A".to_owned(), "1".to_owned());
    let mut rig = Rig::new(world.clone());
    let steps = vec![directory("folder", r"C:\theirs"), env("a", "A", "1")];
    assert_eq!(rig.converge(&document(steps)).0, Outcome::Done);
    assert_eq!(rig.remove(), Outcome::Done);
    assert_eq!(rig.sim.world(), world);
}

#[test]
fn created_folder_is_removed_with_foreign_files() {
    let mut rig = Rig::new(windows_host());
    let steps = vec![directory("made", r"C:\made"), file("in", r"C:\k\mine", "x")];
    rig.converge(&document(steps));
    rig.sim.modify_world(|world| {
        for path in [r"C:\made\theirs", r"C:\k\theirs"] {
            let file = (SimEntry::File(Vec::new()), "everybody".to_owned());
            world.entries.insert(path.parse().unwrap(), file);
        }
    });
    rig.remove();
    let world = rig.sim.world();
    assert!(!world.entries.contains_key(&r"C:\made".parse().unwrap()));
    assert!(world.entries.contains_key(&r"C:\k\theirs".parse().unwrap()));
    assert!(!world.entries.contains_key(&r"C:\k\mine".parse().unwrap()));
}

#[test]
fn wait_timeout_reports_the_found_state() {
    let mut rig = Rig::new(windows_host());
    let wait = step(
        "wait",
        Resource::Wait(Wait {
            condition: Condition::ServiceRunning("x".to_owned()),
            timeout_seconds: 3,
            help: None,
        }),
    );
    let (_, events) = rig.converge(&document(vec![wait]));
    let failure = &failed(&events)["wait"];
    assert_eq!(failure.code, Code::TimedOut);
    assert_eq!(failure.found.as_deref(), Some("condition not met"));
}

#[test]
fn failed_join_leaves_no_token() {
    let mut rig = Rig::new(windows_host());
    rig.sim.set_faults(Faults {
        failing: Some("kubeadm conf".to_owned()),
        ..Faults::default()
    });
    let (outcome, events) = rig.converge(&full());
    assert_eq!(outcome, Outcome::Failed);
    assert!(failed(&events).contains_key("join"));
    let world = format!("{:?}", rig.sim.world());
    assert!(!world.contains("bootstrap-kubelet.conf") && !world.contains("casement-join"));
    rig.sim.set_faults(Faults::default());
    assert_eq!(rig.converge(&full()).0, Outcome::Done);
}

#[test]
fn failed_removal_keeps_its_record() {
    let mut rig = Rig::new(windows_host());
    rig.converge(&document(vec![
        env("a", "A", "1"),
        service("s", Run::Running, &[], &[]),
    ]));
    rig.sim.set_faults(Faults {
        failing: Some("set_env".to_owned()),
        ..Faults::default()
    });
    assert_eq!(rig.remove(), Outcome::Failed);
    rig.sim.set_faults(Faults::default());
    assert_eq!(rig.remove(), Outcome::Done);
    assert_eq!(rig.sim.world(), documents::windows_host());
}
