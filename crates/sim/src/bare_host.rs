//! Hosts before casement changes them: an installed system with SSH and a few foreign
//! services.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use casement_node::sim::{Feature, LinuxWorld, Service, SimEntry, World};
use casement_resource::wire::InterfaceFacts;
use casement_resource::{
    DynamicPortsFacts, HostPath, Protocol, ServiceState, StartType, WindowsFeatureFacts,
};

const UNRESTRICTED: &str = "everybody";

#[must_use]
pub fn bare_windows(name: &str, address: Ipv4Addr) -> World {
    let paths = [
        r"C:\",
        r"C:\Windows",
        r"C:\Windows\System32",
        r"C:\Program Files",
        r"C:\ProgramData",
        r"C:\Users",
    ];
    World {
        entries: directories(&paths),
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
        interfaces: vec![adapter("Ethernet", address)],
        ..World::default()
    }
}

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
        interfaces: vec![adapter("eth0", address)],
        forwarding: BTreeSet::new(),
        linux: Some(kernel()),
        ..World::default()
    }
}

/// Names of everything that differs between two states of a host; the boot count is ignored.
pub(crate) fn differences(before: &World, after: &World) -> Vec<String> {
    let mut names = Vec::new();
    let mut compare = |name: &str, same: bool| {
        if !same {
            names.push(name.to_owned());
        }
    };
    compare("files", before.entries == after.entries);
    compare("environment", before.variables == after.variables);
    compare("search path", before.search_path == after.search_path);
    compare(
        "registry",
        before.keys == after.keys && before.values == after.values,
    );
    compare("services", before.services == after.services);
    compare("firewall", before.firewall == after.firewall);
    compare("features", before.features == after.features);
    compare("HNS networks", before.networks == after.networks);
    compare("HNS endpoints", before.endpoints == after.endpoints);
    compare("interfaces", before.interfaces == after.interfaces);
    compare("adapter", before.adapter == after.adapter);
    compare("ports", before.dynamic_ports == after.dynamic_ports);
    compare("routes", before.routes == after.routes);
    compare("forwarding", before.forwarding == after.forwarding);
    compare("images", before.images == after.images);
    compare("load balancers", before.balancers == after.balancers);
    compare(
        "captured adapters",
        before.captured_nics == after.captured_nics,
    );
    compare(
        "containers",
        before.containers == after.containers && before.layers == after.layers,
    );
    compare("kernel", before.linux == after.linux);
    // Catches fields that have no name above.
    let same_boot = World {
        boot: before.boot,
        ..after.clone()
    };
    if names.is_empty() && *before != same_boot {
        names.push("something else".to_owned());
    }
    names
}

fn directories(paths: &[&str]) -> BTreeMap<HostPath, (SimEntry, String)> {
    let entry = |path: &&str| {
        let path = path.parse().ok()?;
        Some((path, (SimEntry::Directory, UNRESTRICTED.to_owned())))
    };
    paths.iter().filter_map(entry).collect()
}

fn adapter(name: &str, address: Ipv4Addr) -> InterfaceFacts {
    InterfaceFacts {
        index: 2,
        name: name.to_owned(),
        addresses: format!("{address}/24").parse().into_iter().collect(),
    }
}

fn kernel() -> LinuxWorld {
    let forwarding = "net.ipv4.ip_forward".parse();
    let values = forwarding.map(|name| (name, "0".to_owned()));
    LinuxWorld {
        values: values.into_iter().collect(),
        ..LinuxWorld::default()
    }
}

/// Every node needs it, and it is off after an installation of Windows.
fn containers() -> (String, Feature) {
    let feature = Feature {
        state: WindowsFeatureFacts::Off,
        needs_boot: true,
    };
    ("containers".to_owned(), feature)
}

/// Windows' default.
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
        environment: BTreeMap::new(),
    };
    (name.to_owned(), service)
}
