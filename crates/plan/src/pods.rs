//! The pod network of a cluster and of each host, in every mode: which documents
//! of `net` they are, filled in from the spec and from facts.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use casement_net::Late;
use casement_net::cni::{Calico, Dialect, LinuxRoutes, WindowsPods};
use casement_net::flannel::{Backend as FlannelBackend, CniConf, NetConf};
use casement_net::hns::{NetworkType, Wanted};
use casement_net::pod_network::{PodNetwork, TooSmall};
use casement_net::routes::{Carrier, Neighbour, RouteTable, System};
use casement_spec::{Backend, Cluster, Host, NetworkAgent, NetworkMode};
use ipnet::Ipv4Net;

use crate::facts::ClusterFacts;
use crate::places;
use crate::release::{Release, Runtime};

/// flannel's `net-conf.json`, in a mode that has flannel.
pub fn net_conf(cluster: &Cluster) -> Option<NetConf> {
    let network = &cluster.spec.network;
    let name = network.hns_network.as_str();
    let mtu = network.mtu.map(|mtu| mtu.get());
    let backend = match network.backend {
        Backend::FlannelOverlay { vxlan, .. } => {
            FlannelBackend::vxlan(vxlan.vni.get(), vxlan.port, name, mtu)
        }
        Backend::FlannelHostGw { .. } => FlannelBackend::host_gw(name),
        Backend::L3Routes | Backend::CalicoVxlan { .. } => return None,
    };
    Some(NetConf::new(
        cluster.spec.kubernetes.pod_cidr.net(),
        backend,
    ))
}

/// flannel's `cni-conf.json` for Linux nodes, in a mode that has flannel.
pub fn cni_conf(cluster: &Cluster) -> Option<CniConf> {
    let network = &cluster.spec.network;
    let flannel = network.mode().is_flannel();
    flannel.then(|| CniConf::new(network.cni_name.as_str()))
}

/// What carries packets between hosts.
pub fn carrier(cluster: &Cluster) -> Carrier {
    match cluster.spec.network.backend {
        Backend::FlannelOverlay { vxlan, .. } => Carrier::FlannelVxlan {
            vni: vxlan.vni.get(),
        },
        Backend::FlannelHostGw { .. } => Carrier::FlannelHostGw,
        Backend::L3Routes => Carrier::Routes,
        Backend::CalicoVxlan { vxlan } => Carrier::CalicoVxlan {
            vni: vxlan.vni.get(),
        },
    }
}

/// The pods of a host, where they are known. In `calico-vxlan` it is the block
/// that Calico gave to the node.
pub fn of_host(host: &Host, facts: &ClusterFacts) -> Result<Late<PodNetwork>, TooSmall> {
    let pods = facts.pods_of(host.name.as_str());
    Ok(pods.map(PodNetwork::new).transpose()?.into())
}

/// The name of the file that the runtime reads.
pub fn conflist_name(cluster: &Cluster, host: &Host) -> &'static str {
    match cluster.spec.network.mode() {
        NetworkMode::CalicoVxlan => "10-calico.conflist",
        NetworkMode::FlannelOverlay | NetworkMode::FlannelHostGw if !host.os.is_windows() => {
            "10-flannel.conflist"
        }
        _ => "10-casement.conflist",
    }
}

/// The conflist of a host, as text; none where somebody else's installer writes
/// it (Calico's on Linux).
pub fn conflist(
    cluster: &Cluster,
    host: &Host,
    release: Release,
    pods: Late<PodNetwork>,
    facts: &ClusterFacts,
) -> Option<String> {
    if !host.os.is_windows() {
        return linux_conflist(cluster, pods);
    }
    let windows = WindowsPods {
        network: cluster.spec.network.hns_network.as_str(),
        not_translated: not_translated(cluster, facts),
        services: cluster.spec.kubernetes.service_cidr.net(),
        node: host.address,
        dialect: dialect(release),
        dockershim: release.runtime() == Runtime::Dockershim,
    };
    let leases = places::WINDOWS_CNI_LEASES;
    let document = match cluster.spec.network.backend {
        Backend::L3Routes => windows.bridge(pods, leases),
        Backend::FlannelHostGw { agent } => match agent {
            NetworkAgent::Flannel => windows.flannel_bridge(),
            NetworkAgent::Casement => windows.bridge(pods, leases),
        },
        Backend::FlannelOverlay { agent, .. } => match agent {
            NetworkAgent::Flannel => windows.flannel_overlay(),
            NetworkAgent::Casement => windows.overlay(pods, leases),
        },
        Backend::CalicoVxlan { vxlan } => windows.calico(calico(cluster, host, vxlan.vni.get())),
    };
    Some(casement_net::text(&document))
}

fn linux_conflist(cluster: &Cluster, pods: Late<PodNetwork>) -> Option<String> {
    if let Some(flannel) = cni_conf(cluster) {
        return Some(casement_net::text(&flannel));
    }
    let routed = cluster.spec.network.mode() == NetworkMode::L3Routes;
    routed.then(|| {
        let routes = LinuxRoutes {
            network: cluster.spec.network.cni_name.as_str(),
            pods: pods.map(PodNetwork::net),
        };
        casement_net::text(&routes.conflist())
    })
}

/// Which interface of HNS the runtime's plugins speak to.
pub fn dialect(release: Release) -> Dialect {
    match release.runtime() {
        Runtime::Containerd(_) => Dialect::Hcn,
        Runtime::Dockershim | Runtime::CriDockerd => Dialect::Hns,
    }
}

/// Pods, services, and on a bridge the nodes, which see a pod's own address too:
/// nothing answers for another one.
fn not_translated(cluster: &Cluster, facts: &ClusterFacts) -> Vec<Ipv4Net> {
    let kubernetes = &cluster.spec.kubernetes;
    let mut networks = vec![kubernetes.pod_cidr.net(), kubernetes.service_cidr.net()];
    if has_bridge(cluster) {
        let nodes: BTreeSet<Ipv4Addr> =
            facts.nodes.iter().filter_map(|node| node.address).collect();
        networks.extend(nodes.into_iter().map(Ipv4Net::from));
    }
    networks
}

fn calico(cluster: &Cluster, host: &Host, vni: u32) -> Calico {
    let kubernetes = &cluster.spec.kubernetes;
    let services = kubernetes.service_cidr.net();
    let dns = match kubernetes.dns() {
        IpAddr::V4(dns) => dns,
        // Windows pods ask over IPv4; kubeadm's second address is the tenth too.
        IpAddr::V6(_) => u32::from(services.network()).saturating_add(10).into(),
    };
    let domain = kubernetes.domain();
    Calico::vxlan(vni, host.name.as_str(), services, dns, domain.as_str())
}

/// The HNS networks of a Windows host: the one that keeps the switch, where the
/// mode has one, and the pods' own.
pub fn hns_networks(cluster: &Cluster, host: &Host, pods: Late<PodNetwork>) -> Vec<Wanted> {
    let network = &cluster.spec.network;
    let name = network.hns_network.as_str();
    let adapter = interface(cluster, host);
    let external = external(network.mode()).map(|kind| Wanted::external(kind, adapter));
    let own = match network.backend {
        Backend::FlannelOverlay { vxlan, .. } | Backend::CalicoVxlan { vxlan } => {
            Wanted::overlay(name, vxlan.vni.get(), pods, adapter)
        }
        Backend::FlannelHostGw { .. } | Backend::L3Routes => Wanted::bridge(name, pods, adapter),
    };
    external.into_iter().chain([own]).collect()
}

/// The kind of the network that keeps the switch while a daemon makes and
/// deletes the pods' own. Where casement makes that once, there is none.
pub fn external(mode: NetworkMode) -> Option<NetworkType> {
    match mode {
        NetworkMode::FlannelOverlay | NetworkMode::CalicoVxlan => Some(NetworkType::Overlay),
        NetworkMode::FlannelHostGw => Some(NetworkType::L2Bridge),
        NetworkMode::L3Routes => None,
    }
}

/// Whether the mode's pods are on a bridge, where the host has an endpoint.
pub fn has_bridge(cluster: &Cluster) -> bool {
    !cluster.spec.network.mode().is_vxlan()
}

/// The adapter that carries pods, where the spec names it.
pub fn interface<'a>(cluster: &'a Cluster, host: &'a Host) -> Option<&'a str> {
    let own = host.interface.as_ref();
    let interface = own.or(cluster.spec.network.interface.as_ref());
    interface.map(|name| name.as_str())
}

/// The ways from one host to all others' pods.
pub fn table(cluster: &Cluster, host: &Host, facts: &ClusterFacts) -> RouteTable {
    let own = Neighbour {
        name: host.name.to_string(),
        address: host.address,
        pods: facts.pods_of(host.name.as_str()).into(),
    };
    let all: Vec<Neighbour> = facts
        .nodes
        .iter()
        .filter_map(|node| {
            Some(Neighbour {
                name: node.name.clone(),
                address: node.address?,
                pods: node.pods.into(),
            })
        })
        .collect();
    let system = if host.os.is_windows() {
        System::Windows
    } else {
        System::Linux
    };
    RouteTable::new(&own, system, carrier(cluster), &all)
}
