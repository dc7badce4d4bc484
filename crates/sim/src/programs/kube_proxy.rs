//! A model of kube-proxy on Windows: it waits for the HNS network that it was told
//! of, and makes load balancers there for the cluster's Services.
//!
//! A balancer is kept and shown, and carries no packet. `kube-proxy` reads its file
//! again when that changes, as the real one does by ending itself.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use casement_node::platform::Balancer;
use casement_node::sim::{Sim, World};
use casement_resource::HnsEndpointFacts;
use serde_json::Value;

use super::client::Kept;
use super::cni::network_of;
use super::pace::Pace;
use super::{Running, Severity, identity, not_found, running, say};
use crate::host::disk;

const SERVICE: &str = "kube-proxy";
/// Between two looks at the Services. The real one watches them.
const LOOK: Duration = Duration::from_millis(500);
/// What the ids of its own endpoints begin with.
const OWN: &str = "kube-proxy-";

/// One kube-proxy, from its start to its end.
#[derive(Default)]
pub(crate) struct KubeProxy {
    client: Kept,
    looked: Option<Instant>,
}

/// What its file says.
struct Settings {
    network: String,
    source_vip: Option<IpAddr>,
    node: String,
    address: Option<IpAddr>,
    kubeconfig: String,
}

impl KubeProxy {
    /// Does what is next, if the service runs.
    pub(crate) async fn tend(&mut self, sim: &Sim, world: &World, pace: Pace) {
        let Some(program) = running(world, SERVICE) else {
            *self = Self::default();
            return;
        };
        let due = pace.apart(LOOK);
        if self.looked.is_some_and(|last| last.elapsed() < due) {
            return;
        }
        if let Err((from, why)) = self.sync(sim, world, &program).await {
            say(sim, SERVICE, Severity::Error, from, &why);
            return;
        }
        self.looked = Some(Instant::now());
        let synced = "Caches are synced for service config";
        say(
            sim,
            SERVICE,
            Severity::Info,
            "shared_informer.go:356",
            synced,
        );
    }

    /// One round; a failure has the line of the program that the real one says it
    /// from.
    async fn sync(
        &mut self,
        sim: &Sim,
        world: &World,
        program: &Running<'_>,
    ) -> Result<(), (&'static str, String)> {
        let settings = Settings::read(world, program).map_err(ended)?;
        let name = &settings.network;
        let Some(network) = network_of(world, name) else {
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
        settings.suits(world, overlay).map_err(ended)?;
        let identity = identity(world, &settings.kubeconfig).map_err(ended)?;
        let client = self.client.client(&identity).map_err(ended)?;
        let reflector = |why: String| {
            (
                "reflector.go:205",
                format!("\"Failed to watch\" err=\"{why}\""),
            )
        };
        let services = client.get("/api/v1/services").await.map_err(reflector)?;
        let path = "/apis/discovery.k8s.io/v1/endpointslices";
        let slices = client.get(path).await.map_err(reflector)?;
        let table = Table::of(&services, &slices, &settings.node);
        sim.meddle(|world| table.put(world, &settings, overlay));
        Ok(())
    }
}

fn ended(why: String) -> (&'static str, String) {
    ("run.go:72", format!("\"command failed\" err=\"{why}\""))
}

impl Settings {
    fn read(world: &World, program: &Running<'_>) -> Result<Self, String> {
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
        let given = text("/winkernel/networkName").filter(|name| !name.is_empty());
        let network = given.or_else(|| program.variable("KUBE_NETWORK"));
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

    /// What an overlay needs beyond its name.
    fn suits(&self, world: &World, overlay: bool) -> Result<(), String> {
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

/// The Services with what stands behind each.
#[derive(Debug, Default, PartialEq, Eq)]
struct Table {
    /// By a balancer's id: the address that it answers at, if it has one of its
    /// own, and those that it spreads to.
    balancers: BTreeMap<String, (Option<IpAddr>, Vec<Backend>)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Backend {
    address: IpAddr,
    local: bool,
}

impl Table {
    fn of(services: &Value, slices: &Value, node: &str) -> Self {
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
                let id = format!("{OWN}{vip}-{}-{protocol}", port["port"]);
                table.balancers.insert(id, (Some(vip), backends.clone()));
                if let Some(node_port) = port["nodePort"].as_u64() {
                    let id = format!("{OWN}node-{node_port}-{protocol}");
                    table.balancers.insert(id, (None, backends.clone()));
                }
            }
        }
        table
    }

    /// Makes the host's HNS have these and no others of kube-proxy's. Nothing if
    /// the service or the network is gone by now.
    fn put(&self, world: &mut World, settings: &Settings, overlay: bool) {
        let network = &settings.network;
        if running(world, SERVICE).is_none() || network_of(world, network).is_none() {
            return;
        }
        let mut wanted: BTreeMap<String, IpAddr> = BTreeMap::new();
        let mut want = |address: IpAddr| {
            let id = format!("{OWN}{address}");
            wanted.insert(id.clone(), address);
            id
        };
        if let Some(vip) = settings.source_vip.filter(|_| overlay) {
            want(vip);
        }
        let mut balancers = Vec::new();
        for (id, (vip, backends)) in &self.balancers {
            if let Some(vip) = vip.filter(|_| overlay) {
                want(vip);
            }
            let behind =
                backends
                    .iter()
                    .filter_map(|it| match endpoint(world, network, it.address) {
                        Some(there) => Some(there),
                        // A pod of this host that has no endpoint yet is passed over.
                        None => (!it.local).then(|| want(it.address)),
                    });
            let endpoints: Vec<String> = behind.collect();
            if !endpoints.is_empty() {
                balancers.push(Balancer {
                    id: id.clone(),
                    endpoints,
                });
            }
        }
        world.balancers.retain(|it| !it.id.starts_with(OWN));
        world.balancers.extend(balancers);
        world.endpoints.retain(|it| !it.id.starts_with(OWN));
        world
            .endpoints
            .extend(wanted.into_iter().map(|(id, address)| HnsEndpointFacts {
                id,
                // HNS calls one so that nobody has named.
                name: "Ethernet".to_owned(),
                network: network.clone(),
                address: Some(address),
                attached: Some(false),
            }));
    }
}

/// The endpoint of somebody else's that has an address.
fn endpoint(world: &World, network: &str, address: IpAddr) -> Option<String> {
    let mut endpoints = world.endpoints.iter();
    let found = endpoints.find(|it| {
        let foreign = !it.id.starts_with(OWN);
        foreign && it.address == Some(address) && it.network.eq_ignore_ascii_case(network)
    });
    found.map(|it| it.id.clone())
}

/// The ready addresses behind a Service.
fn backends(service: &Value, slices: &Value, node: &str) -> Vec<Backend> {
    let meta = &service["metadata"];
    let of_it = |slice: &&Value| {
        let label = &slice["metadata"]["labels"]["kubernetes.io/service-name"];
        slice["metadata"]["namespace"] == meta["namespace"] && *label == meta["name"]
    };
    let slices = slices["items"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(of_it);
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
