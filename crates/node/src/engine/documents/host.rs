//! A Windows host for tests.

use std::collections::{BTreeMap, BTreeSet};

use casement_resource::wire::InterfaceFacts;
use casement_resource::{
    DynamicPortsFacts, FirewallRuleFacts, HnsNetworkFacts, ObservedAdapter, Protocol, ServiceState,
    StartType, WindowsFeatureFacts,
};

use super::ADDRESS;
use crate::sim::{Feature as SimFeature, RegistryImage, Service as SimService, SimEntry, World};

/// A host with foreign objects.
pub fn windows_host() -> World {
    let thing = |thing: SimEntry| (thing, "everybody".to_owned());
    let notes = SimEntry::File(b"mine".to_vec());
    World {
        entries: BTreeMap::from([
            (r"C:\k".parse().unwrap(), thing(SimEntry::Directory)),
            (r"C:\k\notes.txt".parse().unwrap(), thing(notes.clone())),
            (r"C:\k\hosts".parse().unwrap(), thing(notes)),
        ]),
        variables: BTreeMap::from([("Old".to_owned(), "before".to_owned())]),
        search_path: vec![r"C:\windows".to_owned()],
        keys: ["SOFTWARE", "SYSTEM"].map(str::to_owned).into(),
        values: BTreeMap::new(),
        services: BTreeMap::from([
            ("kube-proxy".to_owned(), foreign_service("old.exe")),
            ("windefend".to_owned(), foreign_service("MsMpEng.exe")),
            ("w32time".to_owned(), foreign_service("svchost.exe")),
        ]),
        // Two rules of the same name, which casement never creates.
        firewall: BTreeMap::from([(
            "old rule".to_owned(),
            vec![foreign_rule("8080"), foreign_rule("9090")],
        )]),
        features: BTreeMap::from([
            ("containers".to_owned(), feature_off(true)),
            ("telnet".to_owned(), feature_off(false)),
        ]),
        stuck_feature: None,
        other_build: None,
        revision: (3807, None),
        updates: BTreeMap::new(),
        boot: 1,
        hostname: "WIN-3K2".to_owned(),
        next_hostname: None,
        domain: None,
        networks: vec![HnsNetworkFacts {
            id: "nat".to_owned(),
            name: "nat".to_owned(),
            network_type: "nat".to_owned(),
            subnets: Vec::new(),
            management_address: None,
        }],
        endpoints: Vec::new(),
        balancers: Vec::new(),
        captured_nics: Vec::new(),
        interfaces: vec![InterfaceFacts {
            index: 7,
            name: "Ethernet".to_owned(),
            addresses: vec![format!("{ADDRESS}/24").parse().unwrap()],
        }],
        adapter: ObservedAdapter {
            addresses: vec![format!("{ADDRESS}/24").parse().unwrap()],
            gateways: vec!["198.18.0.1".parse().unwrap()],
            name_servers: vec!["198.18.0.2".parse().unwrap()],
            metric: Some(10),
        },
        dynamic_ports: [Protocol::Tcp, Protocol::Udp].map(usual_ports).into(),
        routes: Vec::new(),
        forwarding: BTreeSet::new(),
        images: BTreeMap::new(),
        containers: BTreeMap::new(),
        layers: BTreeSet::new(),
        registry: BTreeMap::from([
            (BASE.to_owned(), registry_image("10.0.20348.3807")),
            (OLD.to_owned(), registry_image("10.0.17763.5000")),
        ]),
        linux: None,
    }
}

/// Images for the Windows build of this host, and for an older one.
pub const BASE: &str = "mcr.example/windows/nanoserver:ltsc2022";
pub const OLD: &str = "mcr.example/windows/nanoserver:1809";

fn registry_image(version: &str) -> RegistryImage {
    RegistryImage {
        versions: vec![version.to_owned()],
        runs: true,
    }
}

fn foreign_service(command: &str) -> SimService {
    SimService {
        definition: None,
        command: Some(command.to_owned()),
        display_name: "old".to_owned(),
        start: StartType::Manual,
        depends_on: Vec::new(),
        state: ServiceState::Running,
        recovers: false,
        environment: BTreeMap::new(),
    }
}

fn usual_ports(protocol: Protocol) -> (Protocol, DynamicPortsFacts) {
    let range = DynamicPortsFacts {
        first: 49152,
        count: 16384,
    };
    (protocol, range)
}

fn feature_off(needs_boot: bool) -> SimFeature {
    SimFeature {
        state: WindowsFeatureFacts::Off,
        needs_boot,
    }
}

fn foreign_rule(ports: &str) -> FirewallRuleFacts {
    FirewallRuleFacts {
        protocol: 6,
        ports: ports.to_owned(),
        inbound: true,
        allows: false,
        enabled: true,
        every_profile: false,
        limits: vec!["remoteAddresses LocalSubnet".to_owned()],
    }
}
