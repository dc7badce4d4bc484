//! Hosts as their owners hand them over: an installed system, SSH, and things of
//! somebody else's.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use casement_node::sim::{LinuxWorld, Service, Thing, World};
use casement_resource::wire::InterfaceFacts;
use casement_resource::{HostPath, ServiceState, StartType};

const WIDE: &str = "everybody";

/// A Windows Server.
#[must_use]
pub fn bare_windows(name: &str, address: Ipv4Addr) -> World {
    let folders = [
        r"C:\",
        r"C:\Windows",
        r"C:\Windows\System32",
        r"C:\Program Files",
        r"C:\ProgramData",
        r"C:\Users",
    ];
    World {
        entries: directories(&folders),
        search_path: vec![
            r"%SystemRoot%\system32".to_owned(),
            r"%SystemRoot%".to_owned(),
        ],
        keys: ["SOFTWARE", "SYSTEM"].map(str::to_owned).into(),
        services: [sshd(), hns()].into(),
        boot: 1,
        hostname: name.to_owned(),
        interfaces: vec![card("Ethernet", address)],
        ..World::default()
    }
}

/// A Linux server with systemd.
#[must_use]
pub fn bare_linux(name: &str, address: Ipv4Addr) -> World {
    World {
        entries: directories(&[
            "/",
            "/etc",
            "/usr",
            "/usr/local",
            "/usr/local/bin",
            "/var",
            "/var/lib",
            "/var/log",
        ]),
        hostname: name.to_owned(),
        interfaces: vec![card("eth0", address)],
        forwarding: BTreeSet::new(),
        linux: Some(LinuxWorld::default()),
        ..World::default()
    }
}

fn directories(paths: &[&str]) -> BTreeMap<HostPath, (Thing, String)> {
    let entry = |path: &&str| {
        let path = path.parse().ok()?;
        Some((path, (Thing::Directory, WIDE.to_owned())))
    };
    paths.iter().filter_map(entry).collect()
}

fn card(name: &str, address: Ipv4Addr) -> InterfaceFacts {
    InterfaceFacts {
        index: 2,
        name: name.to_owned(),
        addresses: format!("{address}/24").parse().into_iter().collect(),
    }
}

fn sshd() -> (String, Service) {
    foreign(
        "sshd",
        r"C:\Windows\System32\OpenSSH\sshd.exe",
        ServiceState::Running,
    )
}

fn hns() -> (String, Service) {
    foreign(
        "hns",
        r"C:\Windows\System32\svchost.exe -k NetSvcs -p",
        ServiceState::Running,
    )
}

fn foreign(name: &str, command: &str, state: ServiceState) -> (String, Service) {
    let service = Service {
        definition: None,
        command: Some(command.to_owned()),
        display_name: name.to_owned(),
        start: StartType::Automatic,
        depends_on: Vec::new(),
        state,
        recovers: false,
        given: BTreeMap::new(),
    };
    (name.to_owned(), service)
}
