//! A model of flannel's daemon on Windows, for VXLAN: it reads its `net-conf.json`
//! and its Node, makes the overlay's HNS network or takes the one that is there,
//! tells the others on its Node, and writes down what flannel's CNI plugin needs.
//!
//! Like the real one it does that once: a network that goes later stays away until
//! somebody makes it or starts the daemon anew. Which peers it sends to is logged,
//! and carries no packet.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use casement_node::platform::Hns as _;
use casement_node::sim::{Sim, World};
use casement_resource::{HnsNetwork, HnsNetworkType, HostPath};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::client::{Client, Kept};
use super::cni::{SUBNET_FILE, network_of};
use super::net_conf::{self, NetConf};
use super::pace::Pace;
use super::{Running, Severity, identity, not_found, running, say};
use crate::api_server::now;
use crate::host::disk;

const SERVICE: &str = "flanneld";
const NOTES: &str = "flannel.alpha.coreos.com/";

/// One daemon, from its start to its end.
#[derive(Default)]
pub(crate) struct Flanneld {
    client: Kept,
    /// What it was started with, once all is done.
    up: Option<String>,
    /// What was said of each peer.
    peers: BTreeMap<String, String>,
    looked: Option<Instant>,
}

/// Between two looks at the other nodes. The real one watches them.
const LOOK: Duration = Duration::from_secs(1);

/// What it was told to do.
struct Orders {
    node: String,
    address: Ipv4Addr,
    masquerade: bool,
    conf: NetConf,
}

impl Flanneld {
    /// Does what is next, if the service runs.
    pub(crate) async fn tend(&mut self, sim: &Sim, world: &World, pace: Pace) {
        let Some(program) = running(world, SERVICE) else {
            *self = Self::default();
            return;
        };
        let start = fingerprint(world, &program);
        if self.up.as_ref() != Some(&start) {
            self.up = None;
            self.peers.clear();
            match self.begin(sim, world, &program).await {
                Ok(()) => self.up = Some(start),
                Err((from, why)) => say(sim, SERVICE, Severity::Error, from, &why),
            }
        }
        let due = pace.apart(LOOK);
        let due = self.looked.is_none_or(|last| last.elapsed() > due);
        if self.up.is_some() && due {
            self.looked = Some(Instant::now());
            // A server that is away is asked again.
            let _ = self.watch(sim, world, &program).await;
        }
    }

    /// From its start to the lease; a failure has the line of the program that the
    /// real one says it from.
    async fn begin(
        &mut self,
        sim: &Sim,
        world: &World,
        program: &Running<'_>,
    ) -> Result<(), (&'static str, String)> {
        let orders = Orders::read(world, program)?;
        let kubeconfig = program.flag("kubeconfig-file").unwrap_or_default();
        let identity = identity(world, kubeconfig).map_err(|why| {
            let what = "fail to create kubernetes config: ";
            manager(format!("{what}{why}"))
        })?;
        let client = self.client.client(&identity).map_err(manager)?;
        let registered = orders.register(sim, world, &client).await;
        registered.map_err(|why| ("main.go:346", format!("Error registering network: {why}")))
    }

    /// Notes every other node of the overlay, and says what keeps one out.
    async fn watch(
        &mut self,
        sim: &Sim,
        world: &World,
        program: &Running<'_>,
    ) -> Result<(), String> {
        let own = program.variable("NODE_NAME").unwrap_or_default();
        let kubeconfig = program.flag("kubeconfig-file").unwrap_or_default();
        let client = self.client.client(&identity(world, kubeconfig)?)?;
        let nodes = client.get("/api/v1/nodes").await?;
        for node in nodes["items"].as_array().into_iter().flatten() {
            let name = node["metadata"]["name"].as_str().unwrap_or_default();
            let Some((severity, said)) = peer(node).filter(|_| name != own) else {
                continue;
            };
            if self.peers.get(name) != Some(&said) {
                say(
                    sim,
                    SERVICE,
                    severity,
                    "vxlan_network_windows.go:102",
                    &said,
                );
                self.peers.insert(name.to_owned(), said);
            }
        }
        Ok(())
    }
}

/// All that a start depends on: with something else in it, the service was started
/// anew, even if nobody saw it stand still.
fn fingerprint(world: &World, program: &Running<'_>) -> String {
    let file = program.flag("net-config-path").unwrap_or_default();
    let kubeconfig = program.flag("kubeconfig-file").unwrap_or_default();
    let text = |path: &str| disk::text(world, path).unwrap_or_default();
    let (words, boot) = (program.words(), world.boot);
    format!("{boot} {words} {} {}", text(file), text(kubeconfig))
}

/// What keeps it from finding out which addresses are its own.
fn manager(why: String) -> (&'static str, String) {
    let what = "Failed to create SubnetManager: ";
    ("main.go:231", format!("{what}{why}"))
}

impl Orders {
    fn read(world: &World, program: &Running<'_>) -> Result<Self, (&'static str, String)> {
        let file = program.program();
        if disk::version_of(world, file).is_none() {
            return Err(("main.go:1", format!("`{file}` is not a valid application")));
        }
        let no_interface = || {
            let what = "Failed to find interface to use that matches the interfaces and/or \
                        regexes provided";
            ("main.go:220", what.to_owned())
        };
        let address = program.flag("iface").and_then(|text| text.parse().ok());
        let address: Ipv4Addr = address.ok_or_else(no_interface)?;
        if !world.interfaces.iter().any(|it| it.has(address.into())) {
            return Err(no_interface());
        }
        let node = program.variable("NODE_NAME");
        let node = node.ok_or_else(|| {
            manager("env variables POD_NAME and POD_NAMESPACE must be set".to_owned())
        })?;
        let path = program.flag("net-config-path");
        let path = path.unwrap_or(r"C:\etc\kube-flannel\net-conf.json");
        let text = disk::text(world, path);
        let text =
            text.ok_or_else(|| manager(format!("failed to read net conf: {}", not_found(path))))?;
        let conf = NetConf::read(&text);
        Ok(Self {
            node: node.to_lowercase(),
            address,
            masquerade: program.flag("ip-masq").is_some_and(|it| it != "false"),
            conf: conf.map_err(|why| manager(format!("error parsing subnet config: {why}")))?,
        })
    }

    async fn register(&self, sim: &Sim, world: &World, client: &Client) -> Result<(), String> {
        let vxlan = self.conf.vxlan()?;
        let lease = |why: String| format!("failed to acquire lease: {why}");
        let path = format!("/api/v1/nodes/{}", self.node);
        let node = client.get(&path).await.map_err(lease)?;
        let pods = node["spec"]["podCIDR"].as_str().unwrap_or_default();
        let pods: ipnet::Ipv4Net = pods
            .parse()
            .map_err(|_| lease(format!("node \"{}\" pod cidr not assigned", self.node)))?;
        // The others leave a lease without an address of its own alone.
        self.publish(client, &vxlan, "").await.map_err(lease)?;
        if !self.conf.network.contains(&pods) {
            return Err(lease(format!(
                "subnet \"{}\" specified in the flannel net config doesn't contain \"{pods}\" \
                 PodCIDR of the \"{}\" node",
                self.conf.network, self.node
            )));
        }
        let made = self.network(sim, &vxlan.name, vxlan.vni, pods);
        made.map_err(|why| format!("failed to create VXLAN network: {why}"))?;
        let mac = router_mac(world, &vxlan.name);
        self.publish(client, &vxlan, &mac).await.map_err(lease)?;
        self.write_down(sim, pods);
        let condition = json!({
            "type": "NetworkUnavailable", "status": "False", "reason": "FlannelIsUp",
            "message": "Flannel is running on this node",
            "lastHeartbeatTime": now(), "lastTransitionTime": now(),
        });
        let patch = json!({"status": {"conditions": [condition]}});
        client.lay_over(&format!("{path}/status"), &patch).await?;
        say(
            sim,
            SERVICE,
            Severity::Info,
            "main.go:410",
            "Running backend.",
        );
        Ok(())
    }

    async fn publish(
        &self,
        client: &Client,
        vxlan: &net_conf::Vxlan,
        mac: &str,
    ) -> Result<(), String> {
        let note = |name: &str| format!("{NOTES}{name}");
        let notes = BTreeMap::from([
            (note("backend-type"), "vxlan".to_owned()),
            (
                note("backend-data"),
                format!("{{\"VNI\":{},\"VtepMAC\":\"{mac}\"}}", vxlan.vni),
            ),
            (note("public-ip"), self.address.to_string()),
            (note("kube-subnet-manager"), "true".to_owned()),
        ]);
        let path = format!("/api/v1/nodes/{}/status", self.node);
        let patch = json!({"metadata": {"annotations": notes}});
        client.lay_over(&path, &patch).await.map(drop)
    }

    /// Takes the network that is there if its kind and its addresses are right; one
    /// that differs goes, with all that is in it.
    fn network(&self, sim: &Sim, name: &str, vni: u32, pods: ipnet::Ipv4Net) -> Result<(), String> {
        let world = sim.world();
        if let Some(found) = network_of(&world, name) {
            let first = found.subnets.first().map(|it| it.subnet);
            if found.network_type == "Overlay" && first == Some(pods.into()) {
                return Ok(());
            }
            sim.meddle(|world| {
                world
                    .endpoints
                    .retain(|it| !it.network.eq_ignore_ascii_case(name))
            });
            let deleted = sim.delete_hns_network(&found.id);
            deleted.map_err(|failure| failure.what)?;
        }
        let gateway = pods.hosts().next().unwrap_or(pods.network());
        let network = HnsNetwork {
            name: name.to_owned(),
            network_type: HnsNetworkType::Overlay,
            subnet: pods.into(),
            gateway: IpAddr::V4(gateway),
            isolation: Some(vni),
            adapter_address: self.address.into(),
        };
        let made = sim.create_hns_network(&network);
        made.map_err(|failure| failure.what)?;
        // Somebody may have stopped the daemon meanwhile, and looked for what it left.
        if !sim.runs(SERVICE) {
            let left = format!("network-{name}");
            let taken = sim.delete_hns_network(&left);
            taken.map_err(|failure| failure.what)?;
        }
        Ok(())
    }

    fn write_down(&self, sim: &Sim, pods: ipnet::Ipv4Net) {
        let first = pods.hosts().next().unwrap_or(pods.network());
        let text = format!(
            "FLANNEL_NETWORK={}\nFLANNEL_SUBNET={first}/{}\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ={}\n",
            self.conf.network,
            pods.prefix_len(),
            self.masquerade,
        );
        let Ok(path) = SUBNET_FILE.parse::<HostPath>() else {
            return;
        };
        sim.meddle(|world| {
            if running(world, SERVICE).is_some() {
                disk::put_in(world, &path, &text);
            }
        });
    }
}

/// The address that HNS gives to an overlay's router: another one after each boot.
fn router_mac(world: &World, network: &str) -> String {
    let seed = format!("{} {} {network}", world.hostname, world.boot);
    let hash = Sha256::digest(seed);
    let end: String = hash.iter().take(3).map(|it| format!(":{it:02x}")).collect();
    format!("00:15:5d{end}")
}

/// What the daemon says of another node.
fn peer(node: &Value) -> Option<(Severity, String)> {
    let notes = &node["metadata"]["annotations"];
    let note = |name: &str| notes[format!("{NOTES}{name}")].as_str();
    if note("kube-subnet-manager") != Some("true") {
        return None;
    }
    let pods = node["spec"]["podCIDR"].as_str().unwrap_or_default();
    let kind = note("backend-type").unwrap_or_default();
    if !kind.eq_ignore_ascii_case("vxlan") {
        let said = format!("ignoring non-vxlan subnet({pods}): type={kind}");
        return Some((Severity::Error, said));
    }
    let data = note("backend-data").and_then(|text| serde_json::from_str::<Value>(text).ok());
    let data = data.unwrap_or_default();
    if data["VNI"].as_u64().unwrap_or(0) < u64::from(net_conf::LEAST_VNI) {
        let said = "VNI is required to greater than or equal to 4096 on Windows.";
        return Some((Severity::Error, said.to_owned()));
    }
    let mac = data["VtepMAC"].as_str().filter(|mac| !mac.is_empty())?;
    let address = note("public-ip").unwrap_or_default();
    let said = format!("remote subnet {pods} via {address} ({mac})");
    Some((Severity::Info, said))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(data: &str) -> Value {
        json!({
            "metadata": {"annotations": {
                "flannel.alpha.coreos.com/kube-subnet-manager": "true",
                "flannel.alpha.coreos.com/backend-type": "vxlan",
                "flannel.alpha.coreos.com/backend-data": data,
                "flannel.alpha.coreos.com/public-ip": "127.18.0.11",
            }},
            "spec": {"podCIDR": "10.244.1.0/24"},
        })
    }

    #[test]
    fn a_peer_with_the_number_of_linux_is_left_out_and_one_without_an_address_waited_for() {
        let said = |data: &str| peer(&node(data)).map(|(_, said)| said);
        let low = said(r#"{"VNI":1,"VtepMAC":"02:00:00:00:00:01"}"#).unwrap();
        assert!(low.contains("4096"), "{low}");
        assert_eq!(said(r#"{"VNI":4096,"VtepMAC":""}"#), None);
        let good = said(r#"{"VNI":4096,"VtepMAC":"02:00:00:00:00:01"}"#).unwrap();
        assert!(good.contains("10.244.1.0/24 via 127.18.0.11"), "{good}");
        assert!(peer(&json!({"metadata": {}})).is_none(), "no flannel there");
    }
}
