//! The Linux agent as a real process, used through its channel.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

mod agent;
mod bad_cases;
mod linux;
mod pull;
mod tls;
mod wire;

#[path = "../shared/mirror.rs"]
mod mirror;

use std::fs;
use std::path::Path;

use agent::Agent;
use casement_resource::wire::{EventKind, Outcome, ToAgent, ToController};
use casement_resource::{
    Artifact, ArtifactFormat, Diff, Forwarding, InterfaceRef, Member, Resource, Route, Sha256,
};
use wire::{artifact_blob, document, file, step};

#[test]
fn document_is_applied_once_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let foreign = folder.path().join("etc");
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join("replaced"), "before").unwrap();
    let text = |name: &str| foreign.join(name).to_str().unwrap().to_owned();
    let document = document(vec![
        file("made", &text("deep/er/made"), "hello"),
        file("replaced", &text("replaced"), "after"),
    ]);
    let agent = Agent::new(folder.path());
    let mut channel = agent.channel();
    let (steps, _) = channel.observe(&document);
    assert!(
        steps
            .iter()
            .all(|step| !step.result.as_ref().unwrap().in_sync())
    );

    let events = channel.converge("r1", &document);
    assert!(
        matches!(
            events.last(),
            Some(EventKind::Finished {
                outcome: Outcome::Done,
                ..
            })
        ),
        "{events:?}"
    );
    assert_eq!(fs::read_to_string(text("deep/er/made")).unwrap(), "hello");
    assert_eq!(fs::read_to_string(text("replaced")).unwrap(), "after");
    let (steps, _) = channel.observe(&document);
    assert!(
        steps
            .iter()
            .all(|step| matches!(&step.result, Ok(Diff::InSync { .. }))),
        "{steps:?}"
    );

    // A known run is reported again, not executed again.
    assert_eq!(channel.converge("r1", &document), events);

    assert!(matches!(
        channel.remove("r2").last(),
        Some(EventKind::Finished {
            outcome: Outcome::Done,
            ..
        })
    ));
    assert_eq!(fs::read_to_string(text("replaced")).unwrap(), "before");
    assert!(!Path::new(&text("deep")).exists());

    channel.send(&ToAgent::Retire);
    assert_eq!(channel.receive(), ToController::Retired);
    channel.bye();
    assert!(!agent.state().exists());
}

#[test]
fn archives_are_unpacked_and_missing_blobs_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let agent = Agent::new(folder.path());
    let blob = artifact_blob("./bin/tool", b"#!/bin/true\n");
    let target = folder.path().join("programs");
    let artifact = step(
        "tool",
        Resource::Artifact(Artifact {
            sha256: Sha256::of(&blob),
            size: blob.len() as u64,
            format: ArtifactFormat::TarGz,
            destination: target.to_str().unwrap().parse().unwrap(),
            members: vec![Member {
                from: "bin/tool".to_owned(),
                to: "tool".to_owned(),
                access: Default::default(),
            }],
            access: Default::default(),
        }),
    );
    let document = document(vec![artifact]);
    let mut channel = agent.channel();
    let (_, missing) = channel.observe(&document);
    assert_eq!(missing, [Sha256::of(&blob)]);
    let events = channel.converge("r1", &document);
    assert!(
        matches!(&events[2], EventKind::StepFailed { failure, .. } if failure.to_string().starts_with("CAS-NODE-005")),
        "{events:?}"
    );

    fs::write(
        agent
            .state()
            .join("blobs")
            .join(Sha256::of(&blob).to_string()),
        &blob,
    )
    .unwrap();
    let events = channel.converge("r2", &document);
    assert!(
        matches!(
            events.last(),
            Some(EventKind::Finished {
                outcome: Outcome::Done,
                ..
            })
        ),
        "{events:?}"
    );
    assert_eq!(fs::read(target.join("tool")).unwrap(), b"#!/bin/true\n");
    let (steps, missing) = channel.observe(&document);
    assert!(steps[0].result.as_ref().unwrap().in_sync() && missing.is_empty());
    channel.bye();
}

#[test]
fn killed_service_is_restarted_and_resumes_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let agent = Agent::new(folder.path());
    let barrier = folder.path().join("barrier");
    let document = document(vec![
        file(
            "before",
            folder.path().join("before").to_str().unwrap(),
            "1",
        ),
        agent::wait_for_file("barrier", &barrier),
    ]);
    let mut channel = agent.channel();
    channel.send(&ToAgent::Converge {
        run: "r1".parse().unwrap(),
        document,
    });
    // The run waits at the barrier.
    while !matches!(channel.event(), EventKind::StepBegan { id, .. } if id.as_str() == "barrier") {}
    agent.kill_service();
    assert_eq!(channel.event(), EventKind::Resumed);
    fs::write(&barrier, "").unwrap();
    let events = channel.events();
    assert!(
        matches!(
            events.last(),
            Some(EventKind::Finished {
                outcome: Outcome::Done,
                ..
            })
        ),
        "{events:?}"
    );
    channel.bye();
}

#[test]
fn run_survives_its_channel_and_a_second_run_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let agent = Agent::new(folder.path());
    let barrier = folder.path().join("barrier");
    let document = document(vec![agent::wait_for_file("barrier", &barrier)]);
    let mut first = agent.channel();
    first.send(&ToAgent::Converge {
        run: "r1".parse().unwrap(),
        document: document.clone(),
    });
    while !matches!(first.event(), EventKind::StepBegan { .. }) {}
    first.kill();

    let mut second = agent.channel();
    let holder = second.unfinished.clone().unwrap();
    assert_eq!(
        (holder.run.as_str(), holder.controller.as_str()),
        ("r1", "test")
    );
    second.send(&ToAgent::Converge {
        run: "r2".parse().unwrap(),
        document,
    });
    let ToController::Refused(busy) = second.receive() else {
        panic!("two concurrent runs");
    };
    assert_eq!(busy.holder, holder);
    second.send(&ToAgent::Tail {
        run: "r1".parse().unwrap(),
        from: 2,
    });
    assert!(matches!(second.event(), EventKind::StepBegan { .. }));
    fs::write(&barrier, "").unwrap();
    assert!(matches!(
        second.events().last(),
        Some(EventKind::Finished {
            outcome: Outcome::Done,
            ..
        })
    ));
    second.bye();
}

#[test]
#[ignore = "needs root"]
fn routes_and_forwarding_in_a_network_namespace() {
    let folder = tempfile::tempdir().unwrap();
    let agent = Agent::in_namespace(folder.path());
    let host = InterfaceRef::Address("198.18.0.1".parse().unwrap());
    let document = document(vec![
        step(
            "route",
            Resource::Route(Route {
                destination: "10.244.2.0/24".parse().unwrap(),
                next_hop: "198.18.0.2".parse().unwrap(),
                interface: host.clone(),
            }),
        ),
        step(
            "forwarding",
            Resource::Forwarding(Forwarding { interface: host }),
        ),
        step(
            "all",
            Resource::Forwarding(Forwarding {
                interface: InterfaceRef::Every,
            }),
        ),
    ]);
    let mut channel = agent.channel();
    let events = channel.converge("r1", &document);
    assert!(
        matches!(
            events.last(),
            Some(EventKind::Finished {
                outcome: Outcome::Done,
                ..
            })
        ),
        "{events:?}"
    );
    let routes = agent.inside(&["ip", "route", "show", "10.244.2.0/24"]);
    assert!(routes.contains("via 198.18.0.2 dev eth0"), "{routes}");
    assert_eq!(
        agent
            .inside(&["cat", "/proc/sys/net/ipv4/ip_forward"])
            .trim(),
        "1"
    );

    agent.inside(&["ip", "route", "delete", "10.244.2.0/24"]);
    let (steps, _) = channel.observe(&document);
    let drifted: Vec<_> = steps
        .iter()
        .filter(|step| !step.result.as_ref().unwrap().in_sync())
        .collect();
    assert_eq!((drifted.len(), drifted[0].id.as_str()), (1, "route"));
    channel.converge("r2", &document);

    assert!(matches!(
        channel.remove("r3").last(),
        Some(EventKind::Finished {
            outcome: Outcome::Done,
            ..
        })
    ));
    assert!(!agent.inside(&["ip", "route"]).contains("10.244.2.0/24"));
    assert_eq!(
        agent
            .inside(&["cat", "/proc/sys/net/ipv4/ip_forward"])
            .trim(),
        "0"
    );
    channel.bye();
}
