//! The network documents of a cluster and of each host, filled in from the spec and the
//! facts. What differs by network mode is in [`modes`].

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use casement_net::Deferred;
use casement_net::cni::{Dialect, WindowsPods};
use casement_net::flannel::{CniConf, NetConf};
use casement_net::pod_network::{PodNetwork, TooSmall};
use casement_net::routes::{Neighbor, RouteTable, System};
use casement_spec::{Cluster, Host};
use ipnet::Ipv4Net;

use crate::facts::ClusterFacts;
use crate::modes;
use crate::release::{Release, Runtime};

/// flannel's `net-conf.json`; `None` in modes without flannel.
pub fn net_conf(cluster: &Cluster) -> Option<NetConf> {
    modes::of(cluster).net_conf(cluster)
}

/// flannel's `cni-conf.json` for Linux nodes; `None` in modes without flannel.
pub fn cni_conf(cluster: &Cluster) -> Option<CniConf> {
    let network = &cluster.spec.network;
    let flannel = network.mode().is_flannel();
    flannel.then(|| CniConf::new(network.cni_name.as_str()))
}

/// In `calico-vxlan`, the block that Calico assigned to the node.
pub fn of_host(host: &Host, facts: &ClusterFacts) -> Result<Deferred<PodNetwork>, TooSmall> {
    let pods = facts.pods_of(host.name.as_str());
    Ok(pods.map(PodNetwork::new).transpose()?.into())
}

/// The conflist of a host; `None` if another installer writes it, as Calico's does on Linux.
pub fn conflist(
    cluster: &Cluster,
    host: &Host,
    release: Release,
    pods: Deferred<PodNetwork>,
    facts: &ClusterFacts,
) -> Option<String> {
    let mode = modes::of(cluster);
    if !host.os.is_windows() {
        return mode.linux_conflist(cluster, pods);
    }
    let windows = WindowsPods {
        network: cluster.spec.network.hns_network.as_str(),
        not_translated: not_translated(cluster, facts),
        services: cluster.spec.kubernetes.service_cidr.net(),
        node: host.address,
        dialect: dialect(release),
        dockershim: release.runtime() == Runtime::Dockershim,
    };
    let document = mode.windows_conflist(&windows, pods, cluster, host);
    Some(casement_net::text(&document))
}

/// The HNS API that the CNI plugins of the runtime use.
pub fn dialect(release: Release) -> Dialect {
    match release.runtime() {
        Runtime::Containerd(_) => Dialect::Hcn,
        Runtime::Dockershim | Runtime::CriDockerd => Dialect::Hns,
    }
}

/// Destinations without NAT: pods, services, and on a bridge also the nodes, which have
/// routes to the pods.
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

/// Whether pods are on a bridge, where the host has an endpoint too.
pub fn has_bridge(cluster: &Cluster) -> bool {
    !cluster.spec.network.mode().is_vxlan()
}

/// The adapter for pod traffic, if the spec names one.
pub fn interface<'a>(cluster: &'a Cluster, host: &'a Host) -> Option<&'a str> {
    let own = host.interface.as_ref();
    let interface = own.or(cluster.spec.network.interface.as_ref());
    interface.map(|name| name.as_str())
}

/// The routes from one host to the pods of all others.
pub fn route_table(cluster: &Cluster, host: &Host, facts: &ClusterFacts) -> RouteTable {
    let own = Neighbor {
        name: host.name.to_string(),
        address: host.address,
        pods: facts.pods_of(host.name.as_str()).into(),
    };
    let all: Vec<Neighbor> = facts
        .nodes
        .iter()
        .filter_map(|node| {
            Some(Neighbor {
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
    RouteTable::new(&own, system, modes::of(cluster).carrier(), &all)
}
