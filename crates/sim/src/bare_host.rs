//! Hosts as their owners hand them over: an installed system, SSH, and things of
//! somebody else's.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use casement_node::sim::{Feature, LinuxWorld, Service, Thing, World};
use casement_resource::wire::InterfaceFacts;
use casement_resource::{
    DynamicPortsFacts, HostPath, Protocol, ServiceState, StartType, WindowsFeatureFacts,
};

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
        features: [containers()].into(),
        dynamic_ports: [Protocol::Tcp, Protocol::Udp].map(windows_ports).into(),
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
        linux: Some(kernel()),
        ..World::default()
    }
}

/// What differs between two states of a host, in words; a boot does not count.
pub(crate) fn differences(before: &World, after: &World) -> Vec<String> {
    let mut all = Vec::new();
    let mut note = |what: &str, same: bool| {
        if !same {
            all.push(what.to_owned());
        }
    };
    note("files", before.entries == after.entries);
    note("environment", before.variables == after.variables);
    note("search path", before.search_path == after.search_path);
    note(
        "registry",
        before.keys == after.keys && before.values == after.values,
    );
    note("services", before.services == after.services);
    note("firewall", before.firewall == after.firewall);
    note("features", before.features == after.features);
    note("HNS networks", before.networks == after.networks);
    note("HNS endpoints", before.endpoints == after.endpoints);
    note("interfaces", before.interfaces == after.interfaces);
    note("adapter", before.adapter == after.adapter);
    note("ports", before.dynamic_ports == after.dynamic_ports);
    note("routes", before.routes == after.routes);
    note("forwarding", before.forwarding == after.forwarding);
    note("images", before.images == after.images);
    note("load balancers", before.balancers == after.balancers);
    note("cards", before.taken == after.taken);
    note(
        "containers",
        before.containers == after.containers && before.layers == after.layers,
    );
    note("kernel", before.linux == after.linux);
    // Whatever else a host has by then: nothing is overlooked for want of a name.
    let same_boot = World {
        boot: before.boot,
        ..after.clone()
    };
    if all.is_empty() && *before != same_boot {
        all.push("something else".to_owned());
    }
    all
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

/// A kernel that forwards nothing yet.
fn kernel() -> LinuxWorld {
    let forwarding = "net.ipv4.ip_forward".parse();
    let values = forwarding.map(|name| (name, "0".to_owned()));
    LinuxWorld {
        values: values.into_iter().collect(),
        ..LinuxWorld::default()
    }
}

/// The one that every node needs, and that no installation of Windows has on.
fn containers() -> (String, Feature) {
    let feature = Feature {
        state: WindowsFeatureFacts::Off,
        needs_boot: true,
    };
    ("containers".to_owned(), feature)
}

/// The ports that Windows gives out unless told otherwise.
fn windows_ports(protocol: Protocol) -> (Protocol, DynamicPortsFacts) {
    let ports = DynamicPortsFacts {
        first: 49152,
        count: 16384,
    };
    (protocol, ports)
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
