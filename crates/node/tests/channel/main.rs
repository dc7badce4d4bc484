//! The Linux agent as a real process, spoken to through its channel.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

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
use casement_resource::wire::{Outcome, ToAgent, ToController, What};
use casement_resource::{
    Artifact, ArtifactFormat, Diff, Forwarding, InterfaceRef, Member, Resource, Route, Sha256,
};
use wire::{artifact_blob, document, file, step};

#[test]
fn what_is_asked_is_made_once_and_taken_back() {
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
            .all(|step| !step.seen.as_ref().unwrap().is_right())
    );

    let events = channel.converge("r1", &document);
    assert!(
        matches!(
            events.last(),
            Some(What::Finished {
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
            .all(|step| matches!(&step.seen, Ok(Diff::Right { .. }))),
        "{steps:?}"
    );

    // A run that is known is told again, not done again.
    assert_eq!(channel.converge("r1", &document), events);

    assert!(matches!(
        channel.remove("r2").last(),
        Some(What::Finished {
            outcome: Outcome::Done,
            ..
        })
    ));
    assert_eq!(fs::read_to_string(text("replaced")).unwrap(), "before");
    assert!(!Path::new(&text("deep")).exists());

    channel.say(&ToAgent::Retire);
    assert_eq!(channel.hear(), ToController::Retired);
    channel.bye();
    assert!(!agent.state().exists());
}

#[test]
fn archives_are_unpacked_from_blobs_and_missing_blobs_are_named() {
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
        matches!(&events[2], What::StepFailed { failure, .. } if failure.to_string().starts_with("CAS-NODE-005")),
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
            Some(What::Finished {
                outcome: Outcome::Done,
                ..
            })
        ),
        "{events:?}"
    );
    assert_eq!(fs::read(target.join("tool")).unwrap(), b"#!/bin/true\n");
    let (steps, missing) = channel.observe(&document);
    assert!(steps[0].seen.as_ref().unwrap().is_right() && missing.is_empty());
    channel.bye();
}

#[test]
fn a_killed_service_is_started_anew_and_the_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let agent = Agent::new(folder.path());
    let gate = folder.path().join("gate");
    let document = document(vec![
        file(
            "before",
            folder.path().join("before").to_str().unwrap(),
            "1",
        ),
        agent::wait_for_file("gate", &gate),
    ]);
    let mut channel = agent.channel();
    channel.say(&ToAgent::Converge {
        run: "r1".parse().unwrap(),
        document,
    });
    // The run stands before the gate.
    while !matches!(channel.event(), What::StepBegan { id, .. } if id.as_str() == "gate") {}
    agent.kill_service();
    assert_eq!(channel.event(), What::Resumed);
    fs::write(&gate, "").unwrap();
    let events = channel.events();
    assert!(
        matches!(
            events.last(),
            Some(What::Finished {
                outcome: Outcome::Done,
                ..
            })
        ),
        "{events:?}"
    );
    channel.bye();
}

#[test]
fn a_run_survives_its_channel_and_a_second_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let agent = Agent::new(folder.path());
    let gate = folder.path().join("gate");
    let document = document(vec![agent::wait_for_file("gate", &gate)]);
    let mut first = agent.channel();
    first.say(&ToAgent::Converge {
        run: "r1".parse().unwrap(),
        document: document.clone(),
    });
    while !matches!(first.event(), What::StepBegan { .. }) {}
    first.kill();

    let mut second = agent.channel();
    let holder = second.unfinished.clone().unwrap();
    assert_eq!(
        (holder.run.as_str(), holder.controller.as_str()),
        ("r1", "test")
    );
    second.say(&ToAgent::Converge {
        run: "r2".parse().unwrap(),
        document,
    });
    let ToController::Refused(busy) = second.hear() else {
        panic!("two runs at a time");
    };
    assert_eq!(busy.holder, holder);
    second.say(&ToAgent::Tail {
        run: "r1".parse().unwrap(),
        from: 2,
    });
    assert!(matches!(second.event(), What::StepBegan { .. }));
    fs::write(&gate, "").unwrap();
    assert!(matches!(
        second.events().last(),
        Some(What::Finished {
            outcome: Outcome::Done,
            ..
        })
    ));
    second.bye();
}

#[test]
#[ignore = "needs root"]
fn routes_and_forwarding_in_a_network_of_its_own() {
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
            Some(What::Finished {
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
    let wrong: Vec<_> = steps
        .iter()
        .filter(|step| !step.seen.as_ref().unwrap().is_right())
        .collect();
    assert_eq!((wrong.len(), wrong[0].id.as_str()), (1, "route"));
    channel.converge("r2", &document);

    assert!(matches!(
        channel.remove("r3").last(),
        Some(What::Finished {
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
