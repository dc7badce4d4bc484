//! The document under test: every kind for Linux that needs no cluster.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;

use casement_resource::{
    Access, Answer, Artifact, ArtifactFormat, Check, Command, Condition, Directory, Forwarding,
    InterfaceRef, Kubeconfig, Line, LinkType, Member, NetworkLink, NodeDocument, Package,
    PackageState, Resource, Route, Run, SecretFile, SecretName, Service, ServiceDefinition, Sha256,
    StartType, Step, Symlink, Sysctl, SystemdUnit, TextPart, UnitState, Wait,
};

use crate::foreign::ADDRESS;
use crate::machine::Machine;
use crate::wire::{artifact_blob, document, file, step};

/// The file that drifts, relative to the root of the host.
pub const DRIFTS: &str = "etc/tried/made.conf";
/// Relative to the root of the host.
pub const SECRET_FILE: &str = "etc/tried-new/secret.env";
pub const SECRET: &str = "s3cret of Anna";
const PORT: &str = "127.0.0.1:7001";

/// Prints its environment and arguments, then listens.
const SERVER: &str = r#"#!/usr/bin/perl
use IO::Socket::INET;
$| = 1;
print "$ENV{WORD} $ENV{MORE} @ARGV\n";
my $port = shift;
my $socket = IO::Socket::INET->new(LocalAddr => $port, Listen => 5, ReuseAddr => 1) or die $!;
while (my $client = $socket->accept) { close $client }
"#;
const TOOL: &[u8] = b"#!/bin/sh\necho ours\n";

pub fn blobs() -> [Vec<u8>; 2] {
    [
        artifact_blob("./bin/server", SERVER.as_bytes()),
        TOOL.to_vec(),
    ]
}

pub fn desired() -> NodeDocument {
    let steps = [files(), services(), managed(), network(), waits()];
    document(steps.concat())
}

fn directory(path: &str, access: Access) -> Step {
    let directory = Directory {
        path: path.parse().unwrap(),
        access,
    };
    step(&format!("folder {path}"), Resource::Directory(directory))
}

fn secret_file() -> SecretFile {
    let name: SecretName = "word".parse().unwrap();
    SecretFile {
        path: format!("/{SECRET_FILE}").parse().unwrap(),
        text: vec![
            TextPart::Plain("MORE=".to_owned()),
            TextPart::InUrl(name.clone()),
            TextPart::Plain("\n".to_owned()),
        ],
        fingerprints: BTreeMap::from([(name, "12ab".to_owned())]),
    }
}

fn files() -> Vec<Step> {
    let link = |path: &str| {
        let link = Symlink {
            path: path.parse().unwrap(),
            target: "ours".to_owned(),
        };
        step(&format!("link {path}"), Resource::Symlink(link))
    };
    let line = |path: &str, prefix: Option<&str>, rest: &str| {
        let line = Line {
            path: path.parse().unwrap(),
            prefix: prefix.map(|prefix| prefix.parse().unwrap()),
            rest: rest.parse().unwrap(),
        };
        step(&format!("line {path} {rest}"), Resource::Line(line))
    };
    let [archive, tool] = blobs();
    let artifact = |blob: &[u8], format, to: &str, members: &[(&str, &str)]| {
        let member = |(from, to): &(&str, &str)| Member {
            from: (*from).to_owned(),
            to: (*to).to_owned(),
            access: Default::default(),
        };
        let artifact = Artifact {
            sha256: Sha256::of(blob),
            size: blob.len() as u64,
            format,
            destination: to.parse().unwrap(),
            members: members.iter().map(member).collect(),
            access: Default::default(),
        };
        step(&format!("artifact {to}"), Resource::Artifact(artifact))
    };
    let kubeconfig = Kubeconfig {
        path: "/etc/tried-new/kubeconfig".parse().unwrap(),
        server: "https://198.18.0.10:6443".to_owned(),
        ca: "none".to_owned(),
        client_certificate: "/var/lib/kubelet/pki/current.pem".parse().unwrap(),
    };
    vec![
        directory("/etc/tried", Access::AdministratorsOnly),
        directory("/etc/tried-new/deep", Access::Inherited),
        directory("/var/tried-log", Access::Inherited),
        file("made", &format!("/{DRIFTS}"), "ours\n"),
        file("replaced", "/etc/tried/replaced.conf", "ours\n"),
        file(
            "flags",
            "/etc/tried-new/flags.env",
            "KUBELET_KUBEADM_ARGS=\"--one --two\"\n",
        ),
        file(
            "sysctls",
            "/etc/sysctl.d/99-casement.conf",
            "net.ipv4.ip_forward = 1\n",
        ),
        step("kubeconfig", Resource::Kubeconfig(kubeconfig)),
        step("secret", Resource::SecretFile(secret_file())),
        link("/etc/tried-link"),
        link("/opt/elsewhere/link"),
        line("/etc/tried.conf", Some("key="), "ours"),
        line("/etc/tried.conf", None, "one more"),
        line("/etc/tried-new/lines", None, "only"),
        artifact(
            &archive,
            ArtifactFormat::TarGz,
            "/opt/tried",
            &[("bin/server", "bin/server")],
        ),
        artifact(&tool, ArtifactFormat::Plain, "/opt/tried/bin/tool", &[]),
        check(),
    ]
}

fn check() -> Step {
    const SWITCH: &str = "/etc/tried-switch";
    let command = |argv: &[&str]| Command {
        program: argv[0].to_owned(),
        arguments: argv[1..].iter().map(|it| (*it).to_owned()).collect(),
    };
    let check = Check {
        name: "switch".to_owned(),
        ask: command(&["ls", SWITCH]),
        wanted: Answer::Is(SWITCH.to_owned()),
        act: command(&["touch", SWITCH]),
        undo: Some(command(&["rm", SWITCH])),
        folder: "/".parse().unwrap(),
        timeout_seconds: 60,
    };
    step("check", Resource::Check(check))
}

fn service(name: &str, change: impl FnOnce(&mut ServiceDefinition)) -> Step {
    let mut definition = ServiceDefinition {
        name: name.to_owned(),
        display_name: format!("{name} of casement's"),
        program: vec!["/usr/bin/sleep".to_owned(), "infinity".to_owned()],
        environment: BTreeMap::new(),
        environment_file: None,
        flags_file: None,
        depends_on: Vec::new(),
        log_file: None,
        ready: None,
        ready_seconds: 60,
        start: StartType::Automatic,
    };
    change(&mut definition);
    let service = Service {
        definition,
        run: Run::Running,
        restart_on: vec!["flags".parse().unwrap()],
    };
    step(&format!("service {name}"), Resource::Service(service))
}

fn services() -> Vec<Step> {
    vec![
        service("tried-packaged", |_| {}),
        service("tried-masked", |it| it.start = StartType::Manual),
        service("tried-plain", |it| {
            it.program = ["/opt/tried/bin/server", PORT, "100% $HOME"]
                .map(str::to_owned)
                .to_vec();
            it.environment = BTreeMap::from([("WORD".to_owned(), "hello there".to_owned())]);
            it.environment_file = Some(format!("/{SECRET_FILE}").parse().unwrap());
            it.flags_file = Some("/etc/tried-new/flags.env".parse().unwrap());
            it.depends_on = vec!["tried-packaged".to_owned()];
            it.log_file = Some("/var/tried-log/server.log".parse().unwrap());
            it.ready = Some(Condition::TcpPort(PORT.parse().unwrap()));
        }),
        service("tried-own", |_| {}),
    ]
}

/// Packages and units.
fn managed() -> Vec<Step> {
    let package = |name: &str, state| {
        let package = Package {
            name: name.parse().unwrap(),
            state,
        };
        step(&format!("package {name}"), Resource::Package(package))
    };
    let unit = |name: &str, state| {
        let unit = SystemdUnit {
            name: name.parse().unwrap(),
            state,
        };
        step(&format!("unit {name}"), Resource::SystemdUnit(unit))
    };
    vec![
        package("tried-new", PackageState::Installed),
        package(
            "tried-pinned",
            PackageState::Version("2.0-1".parse().unwrap()),
        ),
        package("tried-gone", PackageState::Absent),
        unit("theirs-on.service", UnitState::Off),
        unit("theirs-off.service", UnitState::On),
        unit("theirs-loud.service", UnitState::Masked),
        unit("none.service", UnitState::Masked),
    ]
}

fn network() -> Vec<Step> {
    let link = |name: &str, link, mtu| {
        let link = NetworkLink {
            name: name.parse().unwrap(),
            link,
            mtu,
        };
        step(
            &format!("networkLink {}", link.name),
            Resource::NetworkLink(link),
        )
    };
    let vxlan = LinkType::Vxlan {
        id: 4096,
        port: 4789,
        local: Some(ADDRESS.parse().unwrap()),
    };
    let own = InterfaceRef::Address(ADDRESS.parse().unwrap());
    let route = Route {
        destination: "10.244.2.0/24".parse().unwrap(),
        next_hop: "198.18.0.2".parse().unwrap(),
        interface: own,
    };
    let ports = Sysctl {
        name: "net.ipv4.ip_local_port_range".parse().unwrap(),
        value: "20000 30000".to_owned(),
    };
    let every = Forwarding {
        interface: InterfaceRef::Every,
    };
    vec![
        link("ours0", LinkType::Bridge, None),
        link("vx0", vxlan, Some(1450)),
        link("theirs0", LinkType::Bridge, Some(1400)),
        step("route", Resource::Route(route)),
        step("forwarding", Resource::Forwarding(every)),
        step("ports", Resource::Sysctl(ports)),
    ]
}

fn waits() -> Vec<Step> {
    let conditions = [
        Condition::TcpPort(PORT.parse().unwrap()),
        Condition::FileExists("/etc/tried-new/flags.env".parse().unwrap()),
        Condition::ServiceRunning("tried-own".to_owned()),
    ];
    let steps = conditions.into_iter().map(|condition| {
        let wait = Wait {
            condition,
            timeout_seconds: 60,
            help: None,
        };
        step(&format!("wait {}", wait.condition), Resource::Wait(wait))
    });
    steps.collect()
}

/// Checks the host directly, not through the agent.
pub fn assert_applied(machine: &Machine) {
    let text = |path: &str| fs::read_to_string(machine.root().join(path)).unwrap();
    assert_eq!(text(DRIFTS), "ours\n");
    assert_eq!(text("etc/tried.conf"), "key=ours\nlast\none more");
    assert_eq!(text(SECRET_FILE), "MORE=s3cret%20of%20Anna\n");
    let found = fs::metadata(machine.root().join(SECRET_FILE)).unwrap();
    assert_eq!((found.mode() & 0o7777, found.uid()), (0o600, 0));
    assert_eq!(text("usr/share/tried-pinned/version"), "2.0-1");
    assert!(!machine.root().join("usr/share/tried-gone").exists());
    let log = text("var/tried-log/server.log");
    let line = format!("hello there s3cret%20of%20Anna {PORT} 100% $HOME --one --two");
    assert!(log.lines().any(|it| it == line), "{log}");
    for name in ["tried-plain", "tried-packaged", "tried-own", "theirs-off"] {
        machine.inside(&["systemctl", "is-active", "--quiet", name]);
    }
    for (name, state) in [
        ("tried-plain", "enabled"),
        ("theirs-on", "disabled"),
        ("theirs-loud", "masked"),
        ("none", "masked"),
    ] {
        let command = [
            "systemctl",
            "show",
            "--value",
            "--property=UnitFileState",
            name,
        ];
        assert_eq!(machine.inside(&command).trim(), state, "{name}");
    }
    let links = machine.inside(&["ip", "-details", "link"]);
    assert!(
        links.contains("vxlan id 4096") && links.contains("mtu 1400"),
        "{links}"
    );
    let routes = machine.inside(&["ip", "route"]);
    assert!(
        routes.contains("10.244.2.0/24 via 198.18.0.2 dev eth0"),
        "{routes}"
    );
    let forwards = machine.inside(&["cat", "/proc/sys/net/ipv4/ip_forward"]);
    assert_eq!(forwards.trim(), "1");
}
