//! A model of CNI on a simulated host: the configuration that containerd finds,
//! the plugins that it names, and what those need to put a pod in its network.

use std::net::IpAddr;

use casement_node::sim::{Sim, World};
use casement_resource::{HnsEndpointFacts, HnsNetworkFacts};
use serde_json::Value;

use super::running;
use crate::host::disk;

/// Where flannel's plugin looks for what flannel's daemon has found out.
pub(crate) const SUBNET_FILE: &str = r"C:\run\flannel\subnet.env";

/// What the CNI configuration of a host says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cni {
    /// The network that it names: on Windows that of HNS.
    pub network: String,
    /// The plugin that is called.
    pub plugin: String,
    /// The one that it hands on to, if it does.
    pub delegate: Option<String>,
}

impl Cni {
    /// The first configuration of a folder, if the programs that it names are there.
    pub(crate) fn read(world: &World, folder: &str, programs: &[String]) -> Option<Self> {
        let files = disk::files_in(world, folder, &[".conflist", ".conf"]);
        let text = disk::text(world, files.first()?.as_str())?;
        let conflist: Value = serde_json::from_str(&text).ok()?;
        let plugin = &conflist["plugins"][0];
        let named = |value: &Value| value.as_str().map(str::to_owned);
        let cni = Self {
            network: named(&conflist["name"])?,
            plugin: named(&plugin["type"])?,
            delegate: named(&plugin["delegate"]["type"]),
        };
        let (separator, ending) = match world.linux {
            Some(_) => ('/', ""),
            None => ('\\', ".exe"),
        };
        let is_there = |name: &String| {
            let mut folders = programs.iter();
            folders.any(|folder| {
                let path = format!("{folder}{separator}{name}{ending}");
                disk::text(world, &path).is_some()
            })
        };
        let whole = std::iter::once(&cni.plugin)
            .chain(&cni.delegate)
            .all(is_there);
        whole.then_some(cni)
    }

    /// Why a pod of this host cannot be put in its network, if it cannot.
    pub(crate) fn why_not(&self, world: &World) -> Option<String> {
        if world.linux.is_some() {
            return None;
        }
        let add = |why: String| format!("plugin type=\"{}\" failed (add): {why}", self.plugin);
        if self.plugin == "flannel" && subnet(world).is_none() {
            let missing =
                "open /run/flannel/subnet.env: The system cannot find the file specified.";
            return Some(add(format!("loadFlannelSubnetEnv failed: {missing}")));
        }
        let network = &self.network;
        let Some(found) = network_of(world, network) else {
            return Some(format!(
                "failed to find HNSNetwork {network}: Network {network} not found"
            ));
        };
        let overlay = self.end() == "win-overlay";
        let fits = overlay == found.network_type.eq_ignore_ascii_case("overlay");
        let kind = &found.network_type;
        (!fits).then(|| {
            add(format!(
                "network {network} is of an unexpected type: {kind}"
            ))
        })
    }

    /// The plugin that does the work.
    fn end(&self) -> &str {
        self.delegate.as_deref().unwrap_or(&self.plugin)
    }

    /// The addresses of this host's pods: flannel's plugin takes them from its
    /// daemon, whatever the Node says.
    pub(crate) fn pods(
        &self,
        world: &World,
        of_node: Option<ipnet::Ipv4Net>,
    ) -> Option<ipnet::Ipv4Net> {
        match self.plugin == "flannel" && world.linux.is_none() {
            true => subnet(world),
            false => of_node,
        }
    }
}

/// The subnet that flannel's daemon has written down.
fn subnet(world: &World) -> Option<ipnet::Ipv4Net> {
    let text = disk::text(world, SUBNET_FILE)?;
    let mut lines = text.lines();
    let value = lines.find_map(|line| line.strip_prefix("FLANNEL_SUBNET="))?;
    value.parse().ok().map(|net: ipnet::Ipv4Net| net.trunc())
}

/// The HNS network of a name, whatever its case.
pub(crate) fn network_of<'a>(world: &'a World, name: &str) -> Option<&'a HnsNetworkFacts> {
    let mut networks = world.networks.iter();
    networks.find(|it| it.name.eq_ignore_ascii_case(name))
}

/// Gives a pod its endpoint in an HNS network, if that is there and there is still
/// a kubelet that asks for it.
pub(crate) fn attach(sim: &Sim, network: &str, pod: &str, address: IpAddr) {
    sim.meddle(|world| {
        if network_of(world, network).is_none() || running(world, "kubelet").is_none() {
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

/// Takes the endpoint of a pod that is gone.
pub(crate) fn detach(sim: &Sim, network: &str, pod: &str) {
    let name = endpoint_name(pod, network);
    sim.meddle(|world| world.endpoints.retain(|it| it.name != name));
}

/// As the CNI plugins of Windows call them.
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
    fn pods_of_an_overlay_need_flannels_word_and_a_network_of_that_kind() {
        let mut world = bare_windows("win1", [127, 18, 0, 11].into());
        let why = flannel().why_not(&world).unwrap();
        assert!(why.contains("loadFlannelSubnetEnv"), "{why}");
        let text = "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.3.1/24\n";
        disk::put_in(&mut world, &SUBNET_FILE.parse().unwrap(), text);
        let why = flannel().why_not(&world).unwrap();
        assert!(why.contains("flannel.4096 not found"), "{why}");
        world.networks = vec![network("L2Bridge")];
        let why = flannel().why_not(&world).unwrap();
        assert!(why.contains("unexpected type: L2Bridge"), "{why}");
        world.networks = vec![network("Overlay")];
        assert_eq!(flannel().why_not(&world), None);
        let pods = flannel().pods(&world, None);
        assert_eq!(pods, Some("10.244.3.0/24".parse().unwrap()));
    }

    #[test]
    fn a_pod_has_one_endpoint_while_its_network_is_there() {
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
