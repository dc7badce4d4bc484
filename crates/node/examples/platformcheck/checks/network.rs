//! Facts, interfaces, routes, forwarding, HNS.

use std::fs;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::Path;

use casement_hcn::{Hcn, HcnError, Hns, Kind, Method};
use casement_node::platform::{Balancer, Level, NewEndpoint};
use casement_resource::{
    AdapterSeen, Code, Condition, ConditionFacts, DynamicPorts, HnsNetwork, HnsNetworkType,
    InterfaceRef, Protocol, RouteEntry,
};

use serde_json::json;

use super::{Check, Host, Outcome, did, equal, so};

pub const CHECKS: &[Check] = &[
    ("facts", facts),
    ("notice", notice),
    ("conditions", conditions),
    ("forwarding", forwarding),
    ("settings of the adapter", adapter),
    ("routes", routes),
    ("dynamic ports", ports),
    ("HNS network and endpoint", hns),
    ("layer of a container", layer),
];

const NETWORK: &str = "platformcheck";

impl Host {
    fn ip(&self) -> IpAddr {
        self.address.parse().unwrap()
    }

    fn interface(&self) -> InterfaceRef {
        InterfaceRef::Address(self.ip())
    }
}

fn facts(host: &Host) -> Outcome {
    let facts = did(host.platform.facts())?;
    println!("# {} {} {}", facts.product, facts.version, facts.hostname);
    so(facts.version.starts_with("10.0."), "the version is odd")?;
    so(!facts.hostname.is_empty(), "the host has no name")?;
    let has = facts
        .interfaces
        .iter()
        .any(|interface| interface.has(host.ip()));
    so(has, &format!("{:?}", facts.interfaces))
}

/// Wine takes entries for its event log, and keeps none.
fn notice(host: &Host) -> Outcome {
    for level in [Level::Information, Level::Warning, Level::Error] {
        host.platform.notice(level, "platformcheck says hello");
    }
    Ok(())
}

fn conditions(host: &Host) -> Outcome {
    let look = |condition: Condition| did(host.platform.condition(&condition));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let open: SocketAddr = listener.local_addr().unwrap();
    equal(look(Condition::TcpPort(open))?, ConditionFacts::Holds)?;
    drop(listener);
    let file = |path: &str| look(Condition::FileExists(path.parse().unwrap()));
    equal(file(r"C:\windows")?, ConditionFacts::Holds)?;
    equal(look(Condition::Address(host.ip()))?, ConditionFacts::Holds)?;
    for not in [
        Condition::TcpPort(open),
        Condition::FileExists(r"C:\no\such".parse().unwrap()),
        Condition::Address("192.0.2.1".parse().unwrap()),
        Condition::NamedPipe(r"\\.\pipe\no-such".to_owned()),
        Condition::ServiceRunning("no-such".to_owned()),
        Condition::HnsNetwork("no-such".to_owned()),
    ] {
        let found = look(not.clone())?;
        so(
            matches!(found, ConditionFacts::NotYet(_)),
            &format!("{not}"),
        )?;
    }
    Ok(())
}

fn forwarding(host: &Host) -> Outcome {
    let network = &host.platform;
    let before = did(network.forwarding(&host.interface()))?.ok_or("no such interface")?;
    for on in [!before, before] {
        did(network.set_forwarding(&host.interface(), on))?;
        equal(did(network.forwarding(&host.interface()))?, Some(on))?;
    }
    let nowhere = InterfaceRef::Address("192.0.2.1".parse().unwrap());
    equal(did(network.forwarding(&nowhere))?, None)
}

/// What a switch may lose, changed and given back.
fn adapter(host: &Host) -> Outcome {
    let network = &host.platform;
    let read = || did(network.adapter(host.ip()))?.ok_or("no such adapter".to_owned());
    let before = read()?;
    let has = before.addresses.iter().any(|net| net.addr() == host.ip());
    so(has, &format!("{before:?}"))?;
    let changed = AdapterSeen {
        name_servers: vec!["192.0.2.53".parse().unwrap()],
        metric: Some(42),
        ..before.clone()
    };
    for settings in [&changed, &changed, &before] {
        did(network.restore_adapter(host.ip(), settings))?;
        equal(&read()?, settings)?;
    }
    let nowhere = "192.0.2.1".parse().unwrap();
    equal(did(network.adapter(nowhere))?, None)?;
    so(
        network.restore_adapter(nowhere, &before).is_err(),
        "an adapter that is not there was set",
    )
}

/// A neighbour that need not exist, on the host's own network.
fn neighbour(host: &Host) -> IpAddr {
    let interfaces = host.platform.interfaces().unwrap();
    let mut nets = interfaces.iter().flat_map(|interface| &interface.addresses);
    let net = nets.find(|net| net.addr() == host.ip()).unwrap();
    let IpAddr::V4(first) = net.network() else {
        panic!("not IPv4")
    };
    IpAddr::from(std::net::Ipv4Addr::from(u32::from(first) + 9))
}

fn routes(host: &Host) -> Outcome {
    let network = &host.platform;
    let destination = "10.99.7.0/24".parse().unwrap();
    let route = RouteEntry {
        destination,
        next_hop: Some(neighbour(host)),
        interface_index: did(network.interface(&host.interface()))?.ok_or("no such interface")?,
    };
    equal(did(network.routes(&destination))?, Vec::new())?;
    did(network.add_route(&route))?;
    let found = did(network.routes(&destination));
    did(network.delete_route(&route))?;
    did(network.delete_route(&route))?;
    equal(found?, vec![route])?;
    equal(did(network.routes(&destination))?, Vec::new())
}

fn ports(host: &Host) -> Outcome {
    let network = &host.platform;
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        let before = did(network.dynamic_ports(protocol))?;
        let wanted = DynamicPorts {
            protocol,
            first: 34_000,
            count: 31_536,
        };
        did(network.set_dynamic_ports(&wanted))?;
        let found = did(network.dynamic_ports(protocol))?;
        so(wanted.diff(found).is_right(), &format!("{found}"))?;
        let too_few = DynamicPorts {
            count: 1,
            ..wanted.clone()
        };
        so(
            network.set_dynamic_ports(&too_few).is_err(),
            "one port was enough",
        )?;
        did(network.set_dynamic_ports(&DynamicPorts {
            first: before.first,
            count: before.count,
            ..wanted
        }))?;
        equal(did(network.dynamic_ports(protocol))?, before)?;
    }
    Ok(())
}

/// The same where Windows has only the first generation of HNS.
pub fn first_generation(host: &Host) -> Outcome {
    so(Hcn::load().is_err(), "the second generation is there")?;
    hns(host)?;
    let overlay = HnsNetwork {
        network_type: HnsNetworkType::Overlay,
        isolation: Some(4096),
        ..bridge(host)
    };
    let failure = host.platform.create_hns_network(&overlay);
    let code = failure.err().map(|failure| failure.code);
    equal(code, Some(Code::Needed))
}

fn bridge(host: &Host) -> HnsNetwork {
    HnsNetwork {
        name: NETWORK.to_owned(),
        network_type: HnsNetworkType::L2Bridge,
        subnet: "10.244.77.0/24".parse().unwrap(),
        gateway: "10.244.77.1".parse().unwrap(),
        isolation: None,
        adapter_address: host.ip(),
    }
}

fn hns(host: &Host) -> Outcome {
    let hns = &host.platform;
    let wanted = bridge(host);
    let find = || did(hns.hns_networks()).map(|all| all.into_iter().find(|it| it.name == NETWORK));
    equal(find()?, None)?;
    // The lab's HNS is no service of Wine's; another process of it is another
    // answer, the same one is the same.
    equal(did(hns.hns_process())?, did(hns.hns_process())?)?;
    did(hns.create_hns_network(&wanted))?;
    let made = find()?.ok_or("the network was not made")?;
    let outcome = endpoint(host, &made.id);
    so(
        wanted.diff(Some(&made)).is_right(),
        &format!("{:?}", wanted.diff(Some(&made))),
    )?;
    did(hns.delete_hns_network(&made.id))?;
    did(hns.delete_hns_network(&made.id))?;
    equal(find()?, None)?;
    equal(
        did(hns.condition(&Condition::Address(host.ip())))?,
        ConditionFacts::Holds,
    )?;
    outcome
}

fn endpoint(host: &Host, network_id: &str) -> Outcome {
    let hns = &host.platform;
    let wanted = NewEndpoint {
        name: format!("{NETWORK}_ep"),
        network_id: network_id.to_owned(),
        address: "10.244.77.2".parse().unwrap(),
    };
    let find =
        || did(hns.hns_endpoints()).map(|all| all.into_iter().find(|it| it.name == wanted.name));
    did(hns.create_hns_endpoint(&wanted))?;
    let made = find()?.ok_or("the endpoint was not made")?;
    equal(made.attached, Some(false))?;
    did(hns.attach_hns_endpoint(&made.id))?;
    did(hns.attach_hns_endpoint(&made.id))?;
    let made = find()?.ok_or("the endpoint is gone")?;
    equal(
        (made.attached, made.address),
        (Some(true), Some(wanted.address)),
    )?;
    equal(made.network.as_str(), NETWORK)?;
    let by_network = InterfaceRef::HnsNetwork(NETWORK.to_owned());
    let by_address = InterfaceRef::Address(wanted.address);
    equal(
        did(hns.interface(&by_network))?,
        did(hns.interface(&by_address))?,
    )?;
    balancer(host, &made.id)?;
    did(hns.delete_hns_endpoint(&made.id))?;
    did(hns.delete_hns_endpoint(&made.id))?;
    equal(find()?, None)?;
    so(
        did(hns.interface(&by_network))?.is_some(),
        "the host has no adapter on the network",
    )
}

/// One that kube-proxy might have made, found and deleted.
fn balancer(host: &Host, endpoint: &str) -> Outcome {
    let hns = &host.platform;
    make_balancer(endpoint).map_err(|error| error.to_string())?;
    let uses = |it: &Balancer| {
        it.endpoints
            .iter()
            .any(|id| id.eq_ignore_ascii_case(endpoint))
    };
    let find = || did(hns.hns_balancers()).map(|all| all.into_iter().find(uses));
    let made = find()?.ok_or("the load balancer is not listed")?;
    did(hns.delete_hns_balancer(&made.id))?;
    did(hns.delete_hns_balancer(&made.id))?;
    equal(find()?, None)
}

/// As kube-proxy makes it, by the generation that there is.
fn make_balancer(endpoint: &str) -> Result<(), HcnError> {
    let Ok(hcn) = Hcn::load() else {
        let list = json!({
            "References": [format!("/endpoints/{endpoint}")],
            "Policies": [{
                "Type": "ELB", "VIPs": ["10.96.77.77"], "Protocol": 6,
                "InternalPort": 80, "ExternalPort": 80,
            }],
        });
        let hns = Hns::load()?;
        return hns
            .call(Method::Post, "/policylists/", Some(&list))
            .map(drop);
    };
    let settings = json!({
        "SchemaVersion": {"Major": 2, "Minor": 0},
        "HostComputeEndpoints": [endpoint],
        "FrontendVIPs": ["10.96.77.77"],
        "PortMappings": [{"Protocol": 6, "InternalPort": 80, "ExternalPort": 80}],
    });
    hcn.create(Kind::LoadBalancer, &settings).map(drop)
}

/// A folder like those of containerd's snapshotter.
fn layer(host: &Host) -> Outcome {
    let layer = r"C:\platformcheck-layer\1";
    fs::create_dir_all(format!(r"{layer}\Files\Windows")).unwrap();
    fs::write(format!(r"{layer}\layerchain.json"), "[]").unwrap();
    let path = layer.parse().unwrap();
    did(host.platform.destroy_layer(&path))?;
    did(host.platform.destroy_layer(&path))?;
    so(!Path::new(layer).exists(), "the layer is there")?;
    fs::remove_dir(r"C:\platformcheck-layer").map_err(|error| error.to_string())
}
