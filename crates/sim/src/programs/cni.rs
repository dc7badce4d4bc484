//! A model of CNI on a simulated host: the configuration that containerd finds, the plugins
//! it names, and what those need to attach a pod to its network.

use std::net::IpAddr;

use casement_node::sim::{Sim, World};
use casement_resource::service_names::KUBELET;
use casement_resource::{HnsEndpointFacts, HnsNetworkFacts};
use serde_json::Value;

use super::running;
use crate::host::disk;

/// Written by flannel's daemon, read by flannel's plugin.
pub(crate) const SUBNET_FILE: &str = r"C:\run\flannel\subnet.env";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cni {
    /// On Windows, the name of the HNS network.
    pub network: String,
    pub plugin: String,
    /// The plugin that it delegates to.
    pub delegate: Option<String>,
}

impl Cni {
    /// The first configuration in a directory, if all its plugins are installed.
    pub(crate) fn read(world: &World, dir: &str, bin_dirs: &[String]) -> Option<Self> {
        let files = disk::files_in(world, dir, &[".conflist", ".conf"]);
        let text = disk::text(world, files.first()?.as_str())?;
        let conflist: Value = serde_json::from_str(&text).ok()?;
        let plugin = &conflist["plugins"][0];
        let string = |value: &Value| value.as_str().map(str::to_owned);
        let cni = Self {
            network: string(&conflist["name"])?,
            plugin: string(&plugin["type"])?,
            delegate: string(&plugin["delegate"]["type"]),
        };
        let (separator, extension) = match world.linux {
            Some(_) => ('/', ""),
            None => ('\\', ".exe"),
        };
        let is_installed = |name: &String| {
            let mut dirs = bin_dirs.iter();
            dirs.any(|dir| {
                let path = format!("{dir}{separator}{name}{extension}");
                disk::text(world, &path).is_some()
            })
        };
        let complete = std::iter::once(&cni.plugin)
            .chain(&cni.delegate)
            .all(is_installed);
        complete.then_some(cni)
    }

    /// The plugin's error for a new pod, if it cannot be attached to its network.
    pub(crate) fn attach_error(&self, world: &World) -> Option<String> {
        if world.linux.is_some() {
            return None;
        }
        let add = |error: String| format!("plugin type=\"{}\" failed (add): {error}", self.plugin);
        if self.plugin == "flannel" && subnet(world).is_none() {
            let missing =
                "open /run/flannel/subnet.env: The system cannot find the file specified.";
            return Some(add(format!("loadFlannelSubnetEnv failed: {missing}")));
        }
        let network = &self.network;
        let Some(found) = find_network(world, network) else {
            return Some(format!(
                "failed to find HNSNetwork {network}: Network {network} not found"
            ));
        };
        let overlay = self.main_plugin() == "win-overlay";
        let matches = overlay == found.network_type.eq_ignore_ascii_case("overlay");
        let kind = &found.network_type;
        (!matches).then(|| {
            add(format!(
                "network {network} is of an unexpected type: {kind}"
            ))
        })
    }

    fn main_plugin(&self) -> &str {
        self.delegate.as_deref().unwrap_or(&self.plugin)
    }

    /// The pod subnet of this host: flannel's plugin takes it from its daemon instead of the
    /// Node.
    pub(crate) fn pod_subnet(
        &self,
        world: &World,
        node_subnet: Option<ipnet::Ipv4Net>,
    ) -> Option<ipnet::Ipv4Net> {
        match self.plugin == "flannel" && world.linux.is_none() {
            true => subnet(world),
            false => node_subnet,
        }
    }
}

/// The subnet in the file of flannel's daemon.
fn subnet(world: &World) -> Option<ipnet::Ipv4Net> {
    let text = disk::text(world, SUBNET_FILE)?;
    let mut lines = text.lines();
    let value = lines.find_map(|line| line.strip_prefix("FLANNEL_SUBNET="))?;
    value.parse().ok().map(|net: ipnet::Ipv4Net| net.trunc())
}

/// Finds an HNS network by name, ignoring case.
pub(crate) fn find_network<'a>(world: &'a World, name: &str) -> Option<&'a HnsNetworkFacts> {
    let mut networks = world.networks.iter();
    networks.find(|it| it.name.eq_ignore_ascii_case(name))
}

/// Creates a pod's endpoint in an HNS network, if the network exists and the kubelet is
/// still running.
pub(crate) fn attach(sim: &Sim, network: &str, pod: &str, address: IpAddr) {
    sim.modify_world(|world| {
        if find_network(world, network).is_none() || running(world, KUBELET).is_none() {
            return;
        }
        let name = endpoint_name(pod, network);
        if let Some(found) = world.endpoints.iter_mut().find(|it| it.name == name) {
            found.address = Some(address);
            return;
        }
        world.endpoints.push(HnsEndpointFacts {
            id: format!("endpoint-{name}"),
            name,
            network: network.to_owned(),
            address: Some(address),
            attached: Some(false),
        });
    });
}

/// Removes the endpoint of a deleted pod.
pub(crate) fn detach(sim: &Sim, network: &str, pod: &str) {
    let name = endpoint_name(pod, network);
    sim.modify_world(|world| world.endpoints.retain(|it| it.name != name));
}

/// As named by the CNI plugins on Windows.
fn endpoint_name(pod: &str, network: &str) -> String {
    format!("{pod}_{network}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bare_windows;
    use crate::fixture::service;

    fn flannel() -> Cni {
        Cni {
            network: "flannel.4096".to_owned(),
            plugin: "flannel".to_owned(),
            delegate: Some("win-overlay".to_owned()),
        }
    }

    fn network(kind: &str) -> HnsNetworkFacts {
        HnsNetworkFacts {
            id: "1".to_owned(),
            name: "flannel.4096".to_owned(),
            network_type: kind.to_owned(),
            subnets: Vec::new(),
            management_address: None,
        }
    }

    #[test]
    fn overlay_pods_need_the_subnet_file_and_an_overlay_network() {
        let mut world = bare_windows("win1", [127, 18, 0, 11].into());
        let error = flannel().attach_error(&world).unwrap();
        assert!(error.contains("loadFlannelSubnetEnv"), "{error}");
        let text = "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.3.1/24\n";
        disk::write_to(&mut world, &SUBNET_FILE.parse().unwrap(), text);
        let error = flannel().attach_error(&world).unwrap();
        assert!(error.contains("flannel.4096 not found"), "{error}");
        world.networks = vec![network("L2Bridge")];
        let error = flannel().attach_error(&world).unwrap();
        assert!(error.contains("unexpected type: L2Bridge"), "{error}");
        world.networks = vec![network("Overlay")];
        assert_eq!(flannel().attach_error(&world), None);
        let pods = flannel().pod_subnet(&world, None);
        assert_eq!(pods, Some("10.244.3.0/24".parse().unwrap()));
    }

    #[test]
    fn pod_has_one_endpoint_while_its_network_exists() {
        let mut world = bare_windows("win1", [127, 18, 0, 11].into());
        world.networks = vec![network("Overlay")];
        world.services.extend([service("kubelet", &["kubelet"])]);
        let sim = Sim::new(world);
        for _ in 0..2 {
            attach(&sim, "flannel.4096", "pod1", [10, 244, 3, 4].into());
        }
        attach(&sim, "other", "pod2", [10, 244, 3, 5].into());
        assert_eq!(sim.world().endpoints.len(), 1);
        detach(&sim, "flannel.4096", "pod1");
        assert!(sim.world().endpoints.is_empty());
    }
}
