//! A model of flannel's daemon on Windows, for VXLAN: it reads its `net-conf.json` and its
//! Node, creates or reuses the overlay's HNS network, publishes its lease on the Node, and
//! writes the file that flannel's CNI plugin needs.
//!
//! Like the real one it does that once: a network that is removed later is not created again
//! until the daemon restarts. Peers are only logged; no packets are sent.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use casement_node::platform::Hns as _;
use casement_node::sim::{Sim, World};
use casement_resource::service_names::FLANNELD;
use casement_resource::{HnsNetwork, HnsNetworkType, HostPath};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::client::{CachedClient, Client};
use super::cni::{SUBNET_FILE, find_network};
use super::net_conf::{self, NetConf};
use super::pace::Pace;
use super::{RunningService, Severity, identity, log, not_found, running};
use crate::api_server::now;
use crate::host::disk;

const ANNOTATION_PREFIX: &str = "flannel.alpha.coreos.com/";

#[derive(Default)]
pub(crate) struct Flanneld {
    client: CachedClient,
    /// Fingerprint of the start that has completed.
    started: Option<String>,
    peers: BTreeMap<String, String>,
    last_poll: Option<Instant>,
}

/// For the other nodes, which the real daemon watches.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

struct FlannelConfig {
    node: String,
    address: Ipv4Addr,
    masquerade: bool,
    conf: NetConf,
}

impl Flanneld {
    /// Runs one step, if the service is running.
    pub(crate) async fn tick(&mut self, sim: &Sim, world: &World, pace: Pace) {
        let Some(program) = running(world, FLANNELD) else {
            *self = Self::default();
            return;
        };
        let start = fingerprint(world, &program);
        if self.started.as_ref() != Some(&start) {
            self.started = None;
            self.peers.clear();
            match self.start(sim, world, &program).await {
                Ok(()) => self.started = Some(start),
                Err((source, error)) => log(sim, FLANNELD, Severity::Error, source, &error),
            }
        }
        let due = pace.scale(POLL_INTERVAL);
        let due = self.last_poll.is_none_or(|last| last.elapsed() > due);
        if self.started.is_some() && due {
            self.last_poll = Some(Instant::now());
            // Errors are retried at the next poll.
            let _ = self.poll_peers(sim, world, &program).await;
        }
    }

    /// From start to lease. An error comes with the source position that the real daemon logs.
    async fn start(
        &mut self,
        sim: &Sim,
        world: &World,
        program: &RunningService<'_>,
    ) -> Result<(), (&'static str, String)> {
        let config = FlannelConfig::read(world, program)?;
        let kubeconfig = program.flag("kubeconfig-file").unwrap_or_default();
        let identity = identity(world, kubeconfig).map_err(|error| {
            let prefix = "fail to create kubernetes config: ";
            subnet_manager_error(format!("{prefix}{error}"))
        })?;
        let client = self
            .client
            .client(&identity)
            .map_err(subnet_manager_error)?;
        let registered = config.register(sim, world, &client).await;
        registered.map_err(|error| ("main.go:346", format!("Error registering network: {error}")))
    }

    /// Logs every other node of the overlay, or why it is ignored.
    async fn poll_peers(
        &mut self,
        sim: &Sim,
        world: &World,
        program: &RunningService<'_>,
    ) -> Result<(), String> {
        let own = program.variable("NODE_NAME").unwrap_or_default();
        let kubeconfig = program.flag("kubeconfig-file").unwrap_or_default();
        let client = self.client.client(&identity(world, kubeconfig)?)?;
        let nodes = client.get("/api/v1/nodes").await?;
        for node in nodes["items"].as_array().into_iter().flatten() {
            let name = node["metadata"]["name"].as_str().unwrap_or_default();
            let Some((severity, message)) = peer(node).filter(|_| name != own) else {
                continue;
            };
            if self.peers.get(name) != Some(&message) {
                log(
                    sim,
                    FLANNELD,
                    severity,
                    "vxlan_network_windows.go:102",
                    &message,
                );
                self.peers.insert(name.to_owned(), message);
            }
        }
        Ok(())
    }
}

/// All inputs of a start. A change means that the service was restarted, even if no poll
/// has seen it stopped.
fn fingerprint(world: &World, program: &RunningService<'_>) -> String {
    let file = program.flag("net-config-path").unwrap_or_default();
    let kubeconfig = program.flag("kubeconfig-file").unwrap_or_default();
    let text = |path: &str| disk::text(world, path).unwrap_or_default();
    let (command_line, boot) = (program.command_line(), world.boot);
    format!("{boot} {command_line} {} {}", text(file), text(kubeconfig))
}

fn subnet_manager_error(error: String) -> (&'static str, String) {
    let prefix = "Failed to create SubnetManager: ";
    ("main.go:231", format!("{prefix}{error}"))
}

impl FlannelConfig {
    fn read(world: &World, program: &RunningService<'_>) -> Result<Self, (&'static str, String)> {
        let file = program.program();
        if disk::version_of(world, file).is_none() {
            return Err(("main.go:1", format!("`{file}` is not a valid application")));
        }
        let no_interface = || {
            let message = "Failed to find interface to use that matches the interfaces and/or \
                        regexes provided";
            ("main.go:220", message.to_owned())
        };
        let address = program.flag("iface").and_then(|text| text.parse().ok());
        let address: Ipv4Addr = address.ok_or_else(no_interface)?;
        if !world.interfaces.iter().any(|it| it.has(address.into())) {
            return Err(no_interface());
        }
        let node = program.variable("NODE_NAME");
        let node = node.ok_or_else(|| {
            subnet_manager_error("env variables POD_NAME and POD_NAMESPACE must be set".to_owned())
        })?;
        let path = program.flag("net-config-path");
        let path = path.unwrap_or(r"C:\etc\kube-flannel\net-conf.json");
        let text = disk::text(world, path);
        let text = text.ok_or_else(|| {
            subnet_manager_error(format!("failed to read net conf: {}", not_found(path)))
        })?;
        let conf = NetConf::read(&text);
        Ok(Self {
            node: node.to_lowercase(),
            address,
            masquerade: program.flag("ip-masq").is_some_and(|it| it != "false"),
            conf: conf.map_err(|error| {
                subnet_manager_error(format!("error parsing subnet config: {error}"))
            })?,
        })
    }

    async fn register(&self, sim: &Sim, world: &World, client: &Client) -> Result<(), String> {
        let vxlan = self.conf.vxlan()?;
        let lease = |error: String| format!("failed to acquire lease: {error}");
        let path = format!("/api/v1/nodes/{}", self.node);
        let node = client.get(&path).await.map_err(lease)?;
        let pods = node["spec"]["podCIDR"].as_str().unwrap_or_default();
        let pods: ipnet::Ipv4Net = pods
            .parse()
            .map_err(|_| lease(format!("node \"{}\" pod cidr not assigned", self.node)))?;
        // Other daemons ignore a lease without a MAC address.
        self.publish(client, &vxlan, "").await.map_err(lease)?;
        if !self.conf.network.contains(&pods) {
            return Err(lease(format!(
                "subnet \"{}\" specified in the flannel net config doesn't contain \"{pods}\" \
                 PodCIDR of the \"{}\" node",
                self.conf.network, self.node
            )));
        }
        let created = self.ensure_network(sim, &vxlan.name, vxlan.vni, pods);
        created.map_err(|error| format!("failed to create VXLAN network: {error}"))?;
        let mac = router_mac(world, &vxlan.name);
        self.publish(client, &vxlan, &mac).await.map_err(lease)?;
        self.write_subnet_file(sim, pods);
        let condition = json!({
            "type": "NetworkUnavailable", "status": "False", "reason": "FlannelIsUp",
            "message": "Flannel is running on this node",
            "lastHeartbeatTime": now(), "lastTransitionTime": now(),
        });
        let patch = json!({"status": {"conditions": [condition]}});
        client
            .strategic_patch(&format!("{path}/status"), &patch)
            .await?;
        log(
            sim,
            FLANNELD,
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
        let annotation = |name: &str| format!("{ANNOTATION_PREFIX}{name}");
        let annotations = BTreeMap::from([
            (annotation("backend-type"), "vxlan".to_owned()),
            (
                annotation("backend-data"),
                format!("{{\"VNI\":{},\"VtepMAC\":\"{mac}\"}}", vxlan.vni),
            ),
            (annotation("public-ip"), self.address.to_string()),
            (annotation("kube-subnet-manager"), "true".to_owned()),
        ]);
        let path = format!("/api/v1/nodes/{}/status", self.node);
        let patch = json!({"metadata": {"annotations": annotations}});
        client.strategic_patch(&path, &patch).await.map(drop)
    }

    /// Reuses an existing network of the same type and subnet; replaces any other, with its
    /// endpoints.
    fn ensure_network(
        &self,
        sim: &Sim,
        name: &str,
        vni: u32,
        pods: ipnet::Ipv4Net,
    ) -> Result<(), String> {
        let world = sim.world();
        if let Some(found) = find_network(&world, name) {
            let first = found.subnets.first().map(|it| it.subnet);
            if found.network_type == "Overlay" && first == Some(pods.into()) {
                return Ok(());
            }
            sim.modify_world(|world| {
                world
                    .endpoints
                    .retain(|it| !it.network.eq_ignore_ascii_case(name))
            });
            let deleted = sim.delete_hns_network(&found.id);
            deleted.map_err(|failure| failure.message)?;
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
        let created = sim.create_hns_network(&network);
        created.map_err(|failure| failure.message)?;
        // The daemon may have been stopped meanwhile, and its network must not stay behind.
        if !sim.is_running(FLANNELD) {
            let leftover = format!("network-{name}");
            let deleted = sim.delete_hns_network(&leftover);
            deleted.map_err(|failure| failure.message)?;
        }
        Ok(())
    }

    fn write_subnet_file(&self, sim: &Sim, pods: ipnet::Ipv4Net) {
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
        sim.modify_world(|world| {
            if running(world, FLANNELD).is_some() {
                disk::write_to(world, &path, &text);
            }
        });
    }
}

/// HNS assigns a new MAC to an overlay's router at each boot.
fn router_mac(world: &World, network: &str) -> String {
    let seed = format!("{} {} {network}", world.hostname, world.boot);
    let hash = Sha256::digest(seed);
    let end: String = hash.iter().take(3).map(|it| format!(":{it:02x}")).collect();
    format!("00:15:5d{end}")
}

fn peer(node: &Value) -> Option<(Severity, String)> {
    let annotations = &node["metadata"]["annotations"];
    let annotation = |name: &str| annotations[format!("{ANNOTATION_PREFIX}{name}")].as_str();
    if annotation("kube-subnet-manager") != Some("true") {
        return None;
    }
    let pods = node["spec"]["podCIDR"].as_str().unwrap_or_default();
    let kind = annotation("backend-type").unwrap_or_default();
    if !kind.eq_ignore_ascii_case("vxlan") {
        let message = format!("ignoring non-vxlan subnet({pods}): type={kind}");
        return Some((Severity::Error, message));
    }
    let data = annotation("backend-data").and_then(|text| serde_json::from_str::<Value>(text).ok());
    let data = data.unwrap_or_default();
    if data["VNI"].as_u64().unwrap_or(0) < u64::from(net_conf::MIN_VNI) {
        let message = "VNI is required to greater than or equal to 4096 on Windows.";
        return Some((Severity::Error, message.to_owned()));
    }
    let mac = data["VtepMAC"].as_str().filter(|mac| !mac.is_empty())?;
    let address = annotation("public-ip").unwrap_or_default();
    let message = format!("remote subnet {pods} via {address} ({mac})");
    Some((Severity::Info, message))
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
    fn peer_with_linux_vni_is_ignored_and_peer_without_mac_is_skipped() {
        let message = |data: &str| peer(&node(data)).map(|(_, message)| message);
        let low_vni = message(r#"{"VNI":1,"VtepMAC":"02:00:00:00:00:01"}"#).unwrap();
        assert!(low_vni.contains("4096"), "{low_vni}");
        assert_eq!(message(r#"{"VNI":4096,"VtepMAC":""}"#), None);
        let valid = message(r#"{"VNI":4096,"VtepMAC":"02:00:00:00:00:01"}"#).unwrap();
        assert!(valid.contains("10.244.1.0/24 via 127.18.0.11"), "{valid}");
        assert!(peer(&json!({"metadata": {}})).is_none(), "no flannel there");
    }
}
