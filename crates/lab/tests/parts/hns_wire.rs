//! Sends packets through emulated HNS networks: two hosts on one bridge and their pods,
//! each in its own network namespace.
//!
//! Each test runs itself again inside `unshare`, so it changes nothing on this machine
//! and leaves nothing behind. Servers and clients in hosts and pods are the same program
//! with another role.

use std::env;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use casement_lab::network::hns::{Hns, HnsConfig, HnsVersion, LinuxFabric, VIRTUAL_ADAPTER};
use lab_wire::hcn::{HcnCall, Object, Verb};
use serde_json::{Value, json};

const ROLE: &str = "CASEMENT_HNS_WIRE_ROLE";

#[test]
#[ignore = "needs root and network namespaces"]
fn pods_connect_over_routed_bridges() {
    in_lab("hns_wire::pods_connect_over_routed_bridges", |dir| {
        let a = Host::new(dir, "a", Ipv4Addr::new(198, 18, 1, 2));
        let b = Host::new(dir, "b", Ipv4Addr::new(198, 18, 1, 3));
        let network_a = a.network(json!({"Name": "cbr0", "Type": "L2Bridge"}), "10.244.3");
        let network_b = b.network(json!({"Name": "cbr0", "Type": "L2Bridge"}), "10.244.4");
        let pod_a = a.pod(&network_a, "10.244.3.9");
        let pod_b = b.pod(&network_b, "10.244.4.9");
        let server = serve(&pod_b, "10.244.4.9:80");
        assert!(!fetch(&pod_a, "10.244.4.9:80"), "no route yet");
        ip(&[
            "-n",
            "a",
            "route",
            "add",
            "10.244.4.0/24",
            "via",
            "198.18.1.3",
        ]);
        ip(&[
            "-n",
            "b",
            "route",
            "add",
            "10.244.3.0/24",
            "via",
            "198.18.1.2",
        ]);
        assert!(fetch(&pod_a, "10.244.4.9:80"));
        assert!(fetch("a", "10.244.4.9:80"), "from host to pod");
        a.pod(&network_a, "10.244.3.10");
        assert!(
            fetch(&pod_a, "10.244.4.9:80"),
            "an additional pod does not interrupt the others"
        );
        kill(server);
    });
}

#[test]
#[ignore = "needs root and network namespaces"]
fn pods_connect_over_vxlan_while_route_policies_exist() {
    in_lab(
        "hns_wire::pods_connect_over_vxlan_while_route_policies_exist",
        |dir| {
            let a = Host::new(dir, "a", Ipv4Addr::new(198, 18, 1, 2));
            let b = Host::new(dir, "b", Ipv4Addr::new(198, 18, 1, 3));
            let overlay = json!({"Name": "flannel.4096", "Type": "Overlay", "Flags": 8});
            let network_a = a.network(overlay.clone(), "10.244.3");
            let network_b = b.network(overlay, "10.244.4");
            let pod_a = a.pod(&network_a, "10.244.3.9");
            let pod_b = b.pod(&network_b, "10.244.4.9");
            let server = serve(&pod_b, "10.244.4.9:80");
            let to_a = route("10.244.3.0/24", "198.18.1.2", &a.router(&network_a));
            let to_b = route("10.244.4.0/24", "198.18.1.3", &b.router(&network_b));
            a.modify(Object::Network, &network_a, "Policy", "Add", to_b.clone());
            b.modify(Object::Network, &network_b, "Policy", "Add", to_a);
            assert!(fetch(&pod_a, "10.244.4.9:80"));
            let device = format!("vxl{}", network_a.replace('-', "").split_at(8).0);
            let shown = ip(&["-n", "a", "-d", "link", "show", "dev", &device]);
            assert!(
                shown.contains("vxlan id 4096") && shown.contains("dstport 4789"),
                "{shown}"
            );
            a.modify(Object::Network, &network_a, "Policy", "Remove", to_b);
            assert!(!fetch(&pod_a, "10.244.4.9:80"), "route removed");
            kill(server);
        },
    );
}

#[test]
#[ignore = "needs root and network namespaces"]
fn linux_host_with_flannel_settings_reaches_pods() {
    in_lab(
        "hns_wire::linux_host_with_flannel_settings_reaches_pods",
        |dir| {
            let host = Host::new(dir, "a", Ipv4Addr::new(198, 18, 1, 2));
            let overlay = json!({"Name": "flannel.4096", "Type": "Overlay", "Flags": 8});
            let network = host.network(overlay, "10.244.3");
            let pod = host.pod(&network, "10.244.3.9");
            let router = host.router(&network).replace('-', ":");
            let device = "flannel.4096";
            let flannel = |line: &str| {
                let arguments: Vec<&str> = ["-n", "b"].into_iter().chain(line.split(' ')).collect();
                ip(&arguments);
            };
            flannel(
                "link add flannel.4096 address 02:00:00:00:00:0b type vxlan id 4096 dstport 4789 \
                 local 198.18.1.3 dev Ethernet nolearning",
            );
            flannel("addr add 10.244.1.0/32 dev flannel.4096");
            flannel("link set flannel.4096 up");
            flannel("route add 10.244.3.0/24 via 10.244.3.0 dev flannel.4096 onlink");
            flannel(&format!(
                "neigh add 10.244.3.0 lladdr {router} dev {device}"
            ));
            let entry = [
                "-n",
                "b",
                "fdb",
                "append",
                &router,
                "dev",
                device,
                "dst",
                "198.18.1.2",
            ];
            assert!(
                Command::new("bridge")
                    .args(entry)
                    .status()
                    .unwrap()
                    .success()
            );
            let back = route("10.244.1.0/24", "198.18.1.3", "02-00-00-00-00-0B");
            host.modify(Object::Network, &network, "Policy", "Add", back);
            let server = serve(&pod, "10.244.3.9:80");
            assert!(fetch("b", "10.244.3.9:80"), "from Linux to the pod");
            let other = serve("b", "10.244.1.0:80");
            assert!(fetch(&pod, "10.244.1.0:80"), "and back");
            [server, other].into_iter().for_each(kill);
        },
    );
}

#[test]
#[ignore = "needs root and network namespaces"]
fn first_external_network_resets_connections_and_last_restores_the_nic() {
    in_lab(
        "hns_wire::first_external_network_resets_connections_and_last_restores_the_nic",
        |dir| {
            let host = Host::new(dir, "a", Ipv4Addr::new(198, 18, 1, 2));
            let outside = serve("b", "198.18.1.3:80");
            let inside = serve("a", "127.0.0.1:80");
            let mut far = start_role("a", "hold 198.18.1.3:80", true);
            let mut near = start_role("a", "hold 127.0.0.1:80", true);
            let network = host.network(json!({"Name": "cbr0", "Type": "L2Bridge"}), "10.244.3");
            assert_eq!(far.wait().unwrap().code(), Some(0), "reset");
            assert!(near.try_wait().unwrap().is_none(), "loopback is not reset");
            assert!(fetch("a", "198.18.1.3:80"));
            assert!(has(VIRTUAL_ADAPTER, "198.18.1.2/24") && !has("Ethernet", "198.18.1.2/24"));
            assert!(ip(&["-n", "a", "route"]).contains("default via 198.18.1.1 dev vEthernet"));
            host.call(Verb::Delete, Object::Network, &network, json!({}));
            assert!(has("Ethernet", "198.18.1.2/24"));
            assert!(ip(&["-n", "a", "route"]).contains("default via 198.18.1.1 dev Ethernet"));
            assert!(fetch("a", "198.18.1.3:80"));
            [near, outside, inside].into_iter().for_each(kill);
        },
    );
}

fn has(device: &str, address: &str) -> bool {
    let shown = ip(&["-n", "a", "addr"]);
    let mut devices = shown
        .split("\n")
        .skip_while(|line| !line.contains(&format!(": {device}")));
    devices.next();
    let lines = devices.take_while(|line| line.starts_with(' '));
    lines.into_iter().any(|line| line.contains(address))
}

fn route(prefix: &str, host: &str, mac: &str) -> Value {
    json!({"Policies": [{"Type": "RemoteSubnetRoute", "Settings": {
        "DestinationPrefix": prefix, "IsolationId": 4096, "ProviderAddress": host,
        "DistributedRouterMacAddress": mac,
    }}]})
}

/// HNS in the network namespace of a host.
struct Host(Hns);

impl Host {
    fn new(dir: &Path, name: &str, address: Ipv4Addr) -> Self {
        let config = HnsConfig {
            version: HnsVersion::WS2022,
            state_file: dir.join(format!("{name}.json")),
            nic: "Ethernet".to_owned(),
            management_ip: address,
            address_delay: Duration::ZERO,
            boot: true,
        };
        let fabric = LinuxFabric::new().in_netns(name);
        let fabric = fabric.with_outage(Duration::from_millis(200));
        Self(Hns::open(config, Box::new(fabric)).unwrap())
    }

    fn call(&self, verb: Verb, object: Object, id: &str, document: Value) -> String {
        let call = HcnCall {
            verb,
            object,
            id: id.to_owned(),
            network: String::new(),
            document: document.to_string(),
        };
        self.0.hcn(&call).unwrap()
    }

    fn modify(&self, object: Object, id: &str, resource: &str, verb: &str, settings: Value) {
        let request = json!({"ResourceType": resource, "RequestType": verb, "Settings": settings});
        self.call(Verb::Modify, object, id, request);
    }

    fn network(&self, mut document: Value, subnet: &str) -> String {
        document["Ipams"] = json!([{"Type": "Static", "Subnets": [{
            "IpAddressPrefix": format!("{subnet}.0/24"),
            "Policies": [{"Type": "VSID", "Settings": {"IsolationId": 4096}}],
            "Routes": [{"NextHop": format!("{subnet}.1"), "DestinationPrefix": "0.0.0.0/0"}],
        }]}]);
        self.call(Verb::Create, Object::Network, "", document)
    }

    /// Creates a namespace with an endpoint like containerd and a CNI plugin; returns the
    /// Linux network namespace.
    fn pod(&self, network: &str, address: &str) -> String {
        let namespace = self.call(Verb::Create, Object::Namespace, "", json!({}));
        let endpoint = json!({
            "HostComputeNetwork": network,
            "IpConfigurations": [{"IpAddress": address, "PrefixLength": 24}],
        });
        let endpoint = self.call(Verb::Create, Object::Endpoint, "", endpoint);
        let settings = json!({"EndpointId": endpoint});
        self.modify(Object::Namespace, &namespace, "Endpoint", "Add", settings);
        self.0.namespace_netns(&namespace).unwrap()
    }

    fn router(&self, network: &str) -> String {
        let text = self.call(Verb::Query, Object::Network, network, json!({}));
        let network: Value = serde_json::from_str(&text).unwrap();
        let policies = network["Policies"].as_array().unwrap();
        let policy = policies
            .iter()
            .find(|it| it["Type"] == "DrMacAddress")
            .unwrap();
        policy["Settings"]["Address"].as_str().unwrap().to_owned()
    }
}

/// Runs the test again in its own namespaces, with two hosts on a bridge.
fn in_lab(test: &str, body: impl FnOnce(&Path)) {
    match env::var(ROLE).ok().as_deref() {
        None => {
            let status = Command::new("unshare")
                .args(["--net", "--mount", "--propagation", "private"])
                .arg(env::current_exe().unwrap())
                .args(["--exact", test, "--include-ignored", "--nocapture"])
                .env(ROLE, "lab")
                .status();
            assert!(status.expect("unshare is needed").success());
        }
        Some("lab") => {
            make_bridge();
            let dir = tempfile::tempdir().unwrap();
            body(dir.path());
        }
        Some(role) => run_role(role),
    }
}

fn make_bridge() {
    let mount = ["-t", "tmpfs", "tmpfs", "/run"];
    assert!(
        Command::new("mount")
            .args(mount)
            .status()
            .unwrap()
            .success()
    );
    ip(&["link", "add", "bridge0", "type", "bridge"]);
    ip(&["addr", "add", "198.18.1.1/24", "dev", "bridge0"]);
    ip(&["link", "set", "bridge0", "up"]);
    for (name, address) in [("a", "198.18.1.2/24"), ("b", "198.18.1.3/24")] {
        ip(&["netns", "add", name]);
        ip(&[
            "link", "add", "name", name, "type", "veth", "peer", "name", "Ethernet", "netns", name,
        ]);
        ip(&["link", "set", "dev", name, "master", "bridge0", "up"]);
        ip(&["-n", name, "link", "set", "lo", "up"]);
        ip(&["-n", name, "addr", "add", address, "dev", "Ethernet"]);
        ip(&["-n", name, "link", "set", "Ethernet", "up"]);
        ip(&["-n", name, "route", "add", "default", "via", "198.18.1.1"]);
    }
}

fn ip(arguments: &[&str]) -> String {
    let output = Command::new("ip").args(arguments).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {arguments:?}: {stderr}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Starts this program in a network namespace; `wait` waits until it is ready.
fn start_role(netns: &str, role: &str, wait: bool) -> Child {
    let mut child = Command::new("nsenter")
        .arg(format!("--net=/run/netns/{netns}"))
        .arg(env::current_exe().unwrap())
        .args(["--exact", "hns_wire::pods_connect_over_routed_bridges"])
        .args(["--include-ignored", "--nocapture"])
        .env(ROLE, role)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    if wait {
        let stderr = child.stderr.as_mut().unwrap();
        stderr.read_exact(&mut [0]).unwrap();
    }
    child
}

fn serve(netns: &str, address: &str) -> Child {
    start_role(netns, &format!("serve {address}"), true)
}

fn fetch(netns: &str, address: &str) -> bool {
    let mut child = start_role(netns, &format!("fetch {address}"), false);
    child.wait().unwrap().success()
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// `serve` sends one byte and keeps the connection open, `fetch` expects that byte, and
/// `hold` expects a reset of the connection.
fn run_role(role: &str) {
    let (verb, address) = role.split_once(' ').unwrap();
    let address: SocketAddr = address.parse().unwrap();
    if verb == "serve" {
        let listener = TcpListener::bind(address).unwrap();
        std::io::stderr().write_all(b".").unwrap();
        let mut connections = Vec::new();
        for mut stream in listener.incoming().flatten() {
            stream.write_all(b"!").unwrap();
            connections.push(stream);
        }
    }
    let stream = TcpStream::connect_timeout(&address, Duration::from_secs(2));
    let mut stream = stream.unwrap_or_else(|_| std::process::exit(1));
    stream.read_exact(&mut [0]).unwrap();
    if verb == "hold" {
        std::io::stderr().write_all(b".").unwrap();
        let error = stream.read(&mut [0]).unwrap_err().kind();
        let expected = [ErrorKind::ConnectionReset, ErrorKind::ConnectionAborted];
        std::process::exit(i32::from(!expected.contains(&error)));
    }
    std::process::exit(0);
}
