//! Kinds for Linux on the real kernel, in a network namespace. Kinds that would change
//! the whole host are tested with fakes in `src/linux`.

use std::fs;

use casement_resource::wire::{EventKind, Outcome};
use casement_resource::{
    Answer, Check, Command, Line, LinkType, NetworkLink, Resource, Step, Symlink, Sysctl,
};

use crate::agent::Agent;
use crate::wire::{document, step};

fn link(name: &str, link: LinkType, mtu: Option<u32>) -> Step {
    step(
        name,
        Resource::NetworkLink(NetworkLink {
            name: name.parse().unwrap(),
            link,
            mtu,
        }),
    )
}

fn vxlan(id: u32) -> LinkType {
    LinkType::Vxlan {
        id,
        port: 4789,
        local: Some("198.18.0.1".parse().unwrap()),
    }
}

fn is_done(events: &[EventKind]) -> bool {
    let done = |what: &EventKind| {
        matches!(
            what,
            EventKind::Finished {
                outcome: Outcome::Done,
                ..
            }
        )
    };
    events.last().is_some_and(done)
}

#[test]
#[ignore = "needs root"]
fn links_and_sysctls_in_a_network_namespace() {
    let folder = tempfile::tempdir().unwrap();
    let agent = Agent::in_namespace(folder.path());
    agent.inside(&["ip", "link", "add", "name", "theirs0", "type", "bridge"]);
    let steps = |id: u32| {
        document(vec![
            link("ours0", LinkType::Bridge, None),
            link("vx0", vxlan(id), Some(1450)),
            link("theirs0", LinkType::Bridge, Some(1400)),
            step(
                "range",
                Resource::Sysctl(Sysctl {
                    name: "net.ipv4.ip_local_port_range".parse().unwrap(),
                    value: "20000 30000".to_owned(),
                }),
            ),
        ])
    };
    let range = || agent.inside(&["cat", "/proc/sys/net/ipv4/ip_local_port_range"]);
    let before = range();
    let mut channel = agent.channel();
    let events = channel.converge("r1", &steps(7));
    assert!(is_done(&events), "{events:?}");
    assert_eq!(range().trim(), "20000\t30000");
    let shown = agent.inside(&["ip", "-details", "link", "show", "dev", "vx0"]);
    assert!(
        shown.contains("mtu 1450") && shown.contains("vxlan id 7"),
        "{shown}"
    );
    assert!(shown.contains(",UP"), "{shown}");

    // Another id replaces the tunnel; the rest is in sync.
    let events = channel.converge("r2", &steps(8));
    assert!(is_done(&events), "{events:?}");
    let changed = |what: &&EventKind| matches!(what, EventKind::StepChanged { .. });
    assert_eq!(events.iter().filter(changed).count(), 1, "{events:?}");
    let shown = agent.inside(&["ip", "-details", "link", "show", "dev", "vx0"]);
    assert!(shown.contains("vxlan id 8"), "{shown}");

    let events = channel.remove("r3");
    assert!(is_done(&events), "{events:?}");
    let shown = agent.inside(&["ip", "link"]);
    assert!(
        !shown.contains("vx0") && !shown.contains("ours0"),
        "{shown}"
    );
    let theirs = agent.inside(&["ip", "link", "show", "dev", "theirs0"]);
    assert!(
        theirs.contains("mtu 1500") && !theirs.contains("UP"),
        "{theirs}"
    );
    assert_eq!(range(), before);
    channel.bye();
}

#[test]
fn symlinks_lines_and_checks_are_applied_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let below = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(below("conf"), "key=theirs\nlast").unwrap();
    let command = |program: &str, arguments: &[&str]| Command {
        program: program.to_owned(),
        arguments: arguments.iter().map(|it| (*it).to_owned()).collect(),
    };
    let switch = below("switch");
    let document = document(vec![
        step(
            "link",
            Resource::Symlink(Symlink {
                path: below("deep/link").parse().unwrap(),
                target: "../conf".to_owned(),
            }),
        ),
        step(
            "line",
            Resource::Line(Line {
                path: below("conf").parse().unwrap(),
                prefix: Some("key=".parse().unwrap()),
                rest: "ours".parse().unwrap(),
            }),
        ),
        step(
            "check",
            Resource::Check(Check {
                name: "switch".to_owned(),
                ask: command("ls", &[&switch]),
                wanted: Answer::Is(switch.clone()),
                act: command("touch", &[&switch]),
                undo: Some(command("rm", &[&switch])),
                folder: "/".parse().unwrap(),
                timeout_seconds: 60,
            }),
        ),
    ]);
    let agent = Agent::new(folder.path());
    let mut channel = agent.channel();
    let events = channel.converge("r1", &document);
    assert!(is_done(&events), "{events:?}");
    assert_eq!(
        fs::read_to_string(below("deep/link")).unwrap(),
        "key=ours\nlast"
    );
    assert!(fs::exists(&switch).unwrap());
    let events = channel.remove("r2");
    assert!(is_done(&events), "{events:?}");
    assert_eq!(
        fs::read_to_string(below("conf")).unwrap(),
        "key=theirs\nlast"
    );
    assert!(!fs::exists(below("deep")).unwrap() && !fs::exists(&switch).unwrap());
    channel.bye();
}
