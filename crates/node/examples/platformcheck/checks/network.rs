//! Facts, interfaces, routes, forwarding, HNS.

use std::fs;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::Path;

use casement_hcn::{Hcn, HcnError, Hns, Kind, Method};
use casement_node::platform::{Balancer, Level, NewEndpoint};
use casement_resource::{
    Code, Condition, ConditionFacts, DynamicPorts, HnsNetwork, HnsNetworkType, InterfaceRef,
    ObservedAdapter, Protocol, RouteEntry,
};

use serde_json::json;

use super::{Check, Host, Outcome, ensure, equal, ok};

pub const CHECKS: &[Check] = &[
    ("facts", facts),
    ("notice", notice),
    ("conditions", conditions),
    ("forwarding", forwarding),
    ("adapter settings", adapter),
    ("routes", routes),
    ("dynamic ports", ports),
    ("HNS network and endpoint", hns),
    ("container layer", layer),
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
    let facts = ok(host.platform.facts())?;
    println!("# {} {} {}", facts.product, facts.version, facts.hostname);
    ensure(
        facts.version.starts_with("10.0."),
        "unexpected Windows version",
    )?;
    ensure(!facts.hostname.is_empty(), "the host has no name")?;
    let has = facts
        .interfaces
        .iter()
        .any(|interface| interface.has(host.ip()));
    ensure(has, &format!("{:?}", facts.interfaces))
}

/// Wine accepts event log entries and stores none.
fn notice(host: &Host) -> Outcome {
    for level in [Level::Information, Level::Warning, Level::Error] {
        host.platform.notice(level, "test event of platformcheck");
    }
    Ok(())
}

fn conditions(host: &Host) -> Outcome {
    let evaluate = |condition: Condition| ok(host.platform.condition(&condition));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let open: SocketAddr = listener.local_addr().unwrap();
    equal(evaluate(Condition::TcpPort(open))?, ConditionFacts::Holds)?;
    drop(listener);
    let file = |path: &str| evaluate(Condition::FileExists(path.parse().unwrap()));
    equal(file(r"C:\windows")?, ConditionFacts::Holds)?;
    equal(
        evaluate(Condition::Address(host.ip()))?,
        ConditionFacts::Holds,
    )?;
    for unmet in [
        Condition::TcpPort(open),
        Condition::FileExists(r"C:\no\such".parse().unwrap()),
        Condition::Address("192.0.2.1".parse().unwrap()),
        Condition::NamedPipe(r"\\.\pipe\no-such".to_owned()),
        Condition::ServiceRunning("no-such".to_owned()),
        Condition::HnsNetwork("no-such".to_owned()),
    ] {
        let found = evaluate(unmet.clone())?;
        ensure(
            matches!(found, ConditionFacts::NotYet(_)),
            &format!("{unmet}"),
        )?;
    }
    Ok(())
}

fn forwarding(host: &Host) -> Outcome {
    let network = &host.platform;
    let before = ok(network.forwarding(&host.interface()))?.ok_or("no such interface")?;
    for on in [!before, before] {
        ok(network.set_forwarding(&host.interface(), on))?;
        equal(ok(network.forwarding(&host.interface()))?, Some(on))?;
    }
    let missing = InterfaceRef::Address("192.0.2.1".parse().unwrap());
    equal(ok(network.forwarding(&missing))?, None)
}

/// Settings that a virtual switch may lose.
fn adapter(host: &Host) -> Outcome {
    let network = &host.platform;
    let read = || ok(network.adapter(host.ip()))?.ok_or("no such adapter".to_owned());
    let before = read()?;
    let has = before.addresses.iter().any(|net| net.addr() == host.ip());
    ensure(has, &format!("{before:?}"))?;
    let changed = ObservedAdapter {
        name_servers: vec!["192.0.2.53".parse().unwrap()],
        metric: Some(42),
        ..before.clone()
    };
    for settings in [&changed, &changed, &before] {
        ok(network.restore_adapter(host.ip(), settings))?;
        equal(&read()?, settings)?;
    }
    let missing = "192.0.2.1".parse().unwrap();
    equal(ok(network.adapter(missing))?, None)?;
    ensure(
        network.restore_adapter(missing, &before).is_err(),
        "a missing adapter was changed",
    )
}

/// An address in the subnet of the host that need not exist.
fn gateway(host: &Host) -> IpAddr {
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
        next_hop: Some(gateway(host)),
        interface_index: ok(network.interface(&host.interface()))?.ok_or("no such interface")?,
    };
    equal(ok(network.routes(&destination))?, Vec::new())?;
    ok(network.add_route(&route))?;
    let found = ok(network.routes(&destination));
    ok(network.delete_route(&route))?;
    ok(network.delete_route(&route))?;
    equal(found?, vec![route])?;
    equal(ok(network.routes(&destination))?, Vec::new())
}

fn ports(host: &Host) -> Outcome {
    let network = &host.platform;
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        let before = ok(network.dynamic_ports(protocol))?;
        let expected = DynamicPorts {
            protocol,
            first: 34_000,
            count: 31_536,
        };
        ok(network.set_dynamic_ports(&expected))?;
        let found = ok(network.dynamic_ports(protocol))?;
        ensure(expected.diff(found).in_sync(), &format!("{found}"))?;
        let too_few = DynamicPorts {
            count: 1,
            ..expected.clone()
        };
        ensure(
            network.set_dynamic_ports(&too_few).is_err(),
            "a range of one port was accepted",
        )?;
        ok(network.set_dynamic_ports(&DynamicPorts {
            first: before.first,
            count: before.count,
            ..expected
        }))?;
        equal(ok(network.dynamic_ports(protocol))?, before)?;
    }
    Ok(())
}

/// The HNS checks for a Windows with HNS v1 only.
pub fn first_generation(host: &Host) -> Outcome {
    ensure(Hcn::load().is_err(), "HNS v2 is available")?;
    hns(host)?;
    let overlay = HnsNetwork {
        network_type: HnsNetworkType::Overlay,
        isolation: Some(4096),
        ..bridge(host)
    };
    let failure = host.platform.create_hns_network(&overlay);
    let code = failure.err().map(|failure| failure.code);
    equal(code, Some(Code::ActionRequired))
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
    let expected = bridge(host);
    let find = || ok(hns.hns_networks()).map(|all| all.into_iter().find(|it| it.name == NETWORK));
    equal(find()?, None)?;
    // The HNS of the lab is not a Wine service; the process must only be stable.
    equal(ok(hns.hns_process())?, ok(hns.hns_process())?)?;
    ok(hns.create_hns_network(&expected))?;
    let created = find()?.ok_or("the network was not created")?;
    let outcome = endpoint(host, &created.id);
    ensure(
        expected.diff(Some(&created)).in_sync(),
        &format!("{:?}", expected.diff(Some(&created))),
    )?;
    ok(hns.delete_hns_network(&created.id))?;
    ok(hns.delete_hns_network(&created.id))?;
    equal(find()?, None)?;
    equal(
        ok(hns.condition(&Condition::Address(host.ip())))?,
        ConditionFacts::Holds,
    )?;
    outcome
}

fn endpoint(host: &Host, network_id: &str) -> Outcome {
    let hns = &host.platform;
    let expected = NewEndpoint {
        name: format!("{NETWORK}_ep"),
        network_id: network_id.to_owned(),
        address: "10.244.77.2".parse().unwrap(),
    };
    let find =
        || ok(hns.hns_endpoints()).map(|all| all.into_iter().find(|it| it.name == expected.name));
    ok(hns.create_hns_endpoint(&expected))?;
    let created = find()?.ok_or("the endpoint was not created")?;
    equal(created.attached, Some(false))?;
    ok(hns.attach_hns_endpoint(&created.id))?;
    ok(hns.attach_hns_endpoint(&created.id))?;
    let created = find()?.ok_or("the endpoint is gone")?;
    equal(
        (created.attached, created.address),
        (Some(true), Some(expected.address)),
    )?;
    equal(created.network.as_str(), NETWORK)?;
    let by_network = InterfaceRef::HnsNetwork(NETWORK.to_owned());
    let by_address = InterfaceRef::Address(expected.address);
    equal(
        ok(hns.interface(&by_network))?,
        ok(hns.interface(&by_address))?,
    )?;
    balancer(host, &created.id)?;
    ok(hns.delete_hns_endpoint(&created.id))?;
    ok(hns.delete_hns_endpoint(&created.id))?;
    equal(find()?, None)?;
    ensure(
        ok(hns.interface(&by_network))?.is_some(),
        "the host has no adapter on the network",
    )
}

/// A load balancer like those of kube-proxy.
fn balancer(host: &Host, endpoint: &str) -> Outcome {
    let hns = &host.platform;
    create_balancer(endpoint).map_err(|error| error.to_string())?;
    let uses = |it: &Balancer| {
        it.endpoints
            .iter()
            .any(|id| id.eq_ignore_ascii_case(endpoint))
    };
    let find = || ok(hns.hns_balancers()).map(|all| all.into_iter().find(uses));
    let created = find()?.ok_or("the load balancer is not listed")?;
    ok(hns.delete_hns_balancer(&created.id))?;
    ok(hns.delete_hns_balancer(&created.id))?;
    equal(find()?, None)
}

/// As kube-proxy creates it, with the HNS version that is available.
fn create_balancer(endpoint: &str) -> Result<(), HcnError> {
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

/// A directory like those of the containerd snapshotter.
fn layer(host: &Host) -> Outcome {
    let layer = r"C:\platformcheck-layer\1";
    fs::create_dir_all(format!(r"{layer}\Files\Windows")).unwrap();
    fs::write(format!(r"{layer}\layerchain.json"), "[]").unwrap();
    let path = layer.parse().unwrap();
    ok(host.platform.destroy_layer(&path))?;
    ok(host.platform.destroy_layer(&path))?;
    ensure(!Path::new(layer).exists(), "the layer still exists")?;
    fs::remove_dir(r"C:\platformcheck-layer").map_err(|error| error.to_string())
}
