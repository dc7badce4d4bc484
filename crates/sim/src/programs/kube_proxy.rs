//! A model of kube-proxy on Windows: it waits for the configured HNS network and creates load
//! balancers there for the cluster's Services.
//!
//! Load balancers are only recorded and forward no packets. The configuration file is read at
//! each poll; the real kube-proxy exits when it changes.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use casement_node::platform::Balancer;
use casement_node::sim::{Sim, World};
use casement_resource::HnsEndpointFacts;
use casement_resource::service_names::KUBE_PROXY;
use serde_json::Value;

use super::client::CachedClient;
use super::cni::find_network;
use super::pace::Pace;
use super::{RunningService, Severity, identity, log, not_found, running};
use crate::host::disk;

/// For Services, which the real kube-proxy watches.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Prefix of the ids of its own endpoints and load balancers.
const ID_PREFIX: &str = "kube-proxy-";

#[derive(Default)]
pub(crate) struct KubeProxy {
    client: CachedClient,
    last_poll: Option<Instant>,
}

struct Settings {
    network: String,
    source_vip: Option<IpAddr>,
    node: String,
    address: Option<IpAddr>,
    kubeconfig: String,
}

impl KubeProxy {
    /// Runs one step, if the service is running.
    pub(crate) async fn tick(&mut self, sim: &Sim, world: &World, pace: Pace) {
        let Some(program) = running(world, KUBE_PROXY) else {
            *self = Self::default();
            return;
        };
        let interval = pace.scale(POLL_INTERVAL);
        if self.last_poll.is_some_and(|last| last.elapsed() < interval) {
            return;
        }
        if let Err((from, error)) = self.sync(sim, world, &program).await {
            log(sim, KUBE_PROXY, Severity::Error, from, &error);
            return;
        }
        self.last_poll = Some(Instant::now());
        let synced = "Caches are synced for service config";
        log(
            sim,
            KUBE_PROXY,
            Severity::Info,
            "shared_informer.go:356",
            synced,
        );
    }

    /// An error comes with the source position that the real kube-proxy logs.
    async fn sync(
        &mut self,
        sim: &Sim,
        world: &World,
        program: &RunningService<'_>,
    ) -> Result<(), (&'static str, String)> {
        let settings = Settings::read(world, program).map_err(command_failed)?;
        let name = &settings.network;
        let Some(network) = find_network(world, name) else {
            return Err((
                "proxier.go:225",
                format!(
                    "\"Unable to find HNS Network specified, please check network name and CNI \
                     deployment\" err=\"Network name \\\"{name}\\\" not found\" \
                     hnsNetworkName=\"{name}\""
                ),
            ));
        };
        let overlay = network.network_type.eq_ignore_ascii_case("overlay");
        settings
            .check_overlay(world, overlay)
            .map_err(command_failed)?;
        let identity = identity(world, &settings.kubeconfig).map_err(command_failed)?;
        let client = self.client.client(&identity).map_err(command_failed)?;
        let reflector = |error: String| {
            (
                "reflector.go:205",
                format!("\"Failed to watch\" err=\"{error}\""),
            )
        };
        let services = client.get("/api/v1/services").await.map_err(reflector)?;
        let path = "/apis/discovery.k8s.io/v1/endpointslices";
        let slices = client.get(path).await.map_err(reflector)?;
        let table = BalancerTable::new(&services, &slices, &settings.node);
        sim.modify_world(|world| table.apply_to(world, &settings, overlay));
        Ok(())
    }
}

fn command_failed(error: String) -> (&'static str, String) {
    ("run.go:72", format!("\"command failed\" err=\"{error}\""))
}

impl Settings {
    fn read(world: &World, program: &RunningService<'_>) -> Result<Self, String> {
        let file = program.program();
        if disk::version_of(world, file).is_none() {
            return Err(format!("`{file}` is not a valid application"));
        }
        let path = program.flag("config").unwrap_or_default();
        let text = disk::text(world, path);
        let text = text.ok_or_else(|| format!("failed complete: {}", not_found(path)))?;
        let document: Value =
            serde_json::from_str(&text).map_err(|error| format!("failed complete: {error}"))?;
        let text = |pointer: &str| document.pointer(pointer).and_then(Value::as_str);
        let configured = text("/winkernel/networkName").filter(|name| !name.is_empty());
        let network = configured.or_else(|| program.variable("KUBE_NETWORK"));
        let network =
            network.ok_or("Environment variable KUBE_NETWORK and network-flag not initialized")?;
        let address = |pointer: &str| text(pointer).and_then(|text| text.parse().ok());
        let node = text("/hostnameOverride").unwrap_or(&world.hostname);
        Ok(Self {
            network: network.to_owned(),
            source_vip: address("/winkernel/sourceVip"),
            node: node.to_lowercase(),
            address: address("/bindAddress"),
            kubeconfig: text("/clientConnection/kubeconfig")
                .unwrap_or_default()
                .to_owned(),
        })
    }

    fn check_overlay(&self, world: &World, overlay: bool) -> Result<(), String> {
        if !overlay {
            return Ok(());
        }
        if self.source_vip.is_none() {
            return Err("source-vip flag not set".to_owned());
        }
        let has = |address: &IpAddr| world.interfaces.iter().any(|it| it.has(*address));
        match self.address.filter(has) {
            Some(_) => Ok(()),
            None => {
                let address = self.address.map_or("<nil>".to_owned(), |it| it.to_string());
                Err(format!("could not find host mac address for {address}"))
            }
        }
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct BalancerTable {
    /// By load balancer id: its virtual IP, if it has one, and its backends.
    balancers: BTreeMap<String, (Option<IpAddr>, Vec<Backend>)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Backend {
    address: IpAddr,
    local: bool,
}

impl BalancerTable {
    fn new(services: &Value, slices: &Value, node: &str) -> Self {
        let mut table = Self::default();
        for service in services["items"].as_array().into_iter().flatten() {
            let vip = service["spec"]["clusterIP"].as_str();
            let Some(vip) = vip.and_then(|text| text.parse::<IpAddr>().ok()) else {
                continue;
            };
            let backends = backends(service, slices, node);
            if backends.is_empty() {
                continue;
            }
            for port in service["spec"]["ports"].as_array().into_iter().flatten() {
                let protocol = port["protocol"].as_str().unwrap_or("TCP");
                let id = format!("{ID_PREFIX}{vip}-{}-{protocol}", port["port"]);
                table.balancers.insert(id, (Some(vip), backends.clone()));
                if let Some(node_port) = port["nodePort"].as_u64() {
                    let id = format!("{ID_PREFIX}node-{node_port}-{protocol}");
                    table.balancers.insert(id, (None, backends.clone()));
                }
            }
        }
        table
    }

    /// Replaces kube-proxy's objects in the host's HNS. Does nothing if the service has
    /// stopped or the network is gone.
    fn apply_to(&self, world: &mut World, settings: &Settings, overlay: bool) {
        let network = &settings.network;
        if running(world, KUBE_PROXY).is_none() || find_network(world, network).is_none() {
            return;
        }
        let mut own_endpoints: BTreeMap<String, IpAddr> = BTreeMap::new();
        let mut add_endpoint = |address: IpAddr| {
            let id = format!("{ID_PREFIX}{address}");
            own_endpoints.insert(id.clone(), address);
            id
        };
        if let Some(vip) = settings.source_vip.filter(|_| overlay) {
            add_endpoint(vip);
        }
        let mut balancers = Vec::new();
        for (id, (vip, backends)) in &self.balancers {
            if let Some(vip) = vip.filter(|_| overlay) {
                add_endpoint(vip);
            }
            let backend_endpoints = backends.iter().filter_map(|it| {
                match foreign_endpoint(world, network, it.address) {
                    Some(existing) => Some(existing),
                    // Skip a pod of this host that has no endpoint yet.
                    None => (!it.local).then(|| add_endpoint(it.address)),
                }
            });
            let endpoints: Vec<String> = backend_endpoints.collect();
            if !endpoints.is_empty() {
                balancers.push(Balancer {
                    id: id.clone(),
                    endpoints,
                });
            }
        }
        world.balancers.retain(|it| !it.id.starts_with(ID_PREFIX));
        world.balancers.extend(balancers);
        world.endpoints.retain(|it| !it.id.starts_with(ID_PREFIX));
        world.endpoints.extend(
            own_endpoints
                .into_iter()
                .map(|(id, address)| HnsEndpointFacts {
                    id,
                    // HNS' default name.
                    name: "Ethernet".to_owned(),
                    network: network.clone(),
                    address: Some(address),
                    attached: Some(false),
                }),
        );
    }
}

/// The endpoint with this address that kube-proxy does not own.
fn foreign_endpoint(world: &World, network: &str, address: IpAddr) -> Option<String> {
    let mut endpoints = world.endpoints.iter();
    let found = endpoints.find(|it| {
        let foreign = !it.id.starts_with(ID_PREFIX);
        foreign && it.address == Some(address) && it.network.eq_ignore_ascii_case(network)
    });
    found.map(|it| it.id.clone())
}

fn backends(service: &Value, slices: &Value, node: &str) -> Vec<Backend> {
    let meta = &service["metadata"];
    let belongs_to_service = |slice: &&Value| {
        let label = &slice["metadata"]["labels"]["kubernetes.io/service-name"];
        slice["metadata"]["namespace"] == meta["namespace"] && *label == meta["name"]
    };
    let slices = slices["items"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(belongs_to_service);
    let endpoints = slices.flat_map(|slice| slice["endpoints"].as_array().into_iter().flatten());
    let ready = endpoints.filter(|it| it["conditions"]["ready"] != false);
    ready
        .flat_map(|it| {
            let local = it["nodeName"] == node;
            let addresses = it["addresses"].as_array().into_iter().flatten();
            let addresses = addresses.filter_map(|it| it.as_str()?.parse().ok());
            addresses.map(move |address| Backend { address, local })
        })
        .collect()
}

#[cfg(test)]
mod tests;
