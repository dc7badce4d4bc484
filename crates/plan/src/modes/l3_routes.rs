//! `l3-routes`: casement routes the pod networks between all hosts; no daemon runs.

use casement_net::Deferred;
use casement_net::cni::{Conflist, LinuxRoutes, Plugin, WindowsPods};
use casement_net::hns::{EndpointSpec, NetworkSpec};
use casement_net::pod_network::PodNetwork;
use casement_net::routes::{self, Carrier};
use casement_resource::step_ids::{self, HNS_NETWORK};
use casement_resource::{Forwarding, InterfaceRef, Resource, Route};
use casement_spec::{Cluster, Host, Program};

use super::{Mode, Unsupported};
use crate::facts::ClusterFacts;
use crate::kubelet::Kubelet;
use crate::node_paths::WINDOWS_CNI_LEASES;
use crate::steps::{PlanError, Steps};
use crate::{hns, linux, windows};

pub(super) struct L3Routes;

impl Mode for L3Routes {
    fn carrier(&self) -> Carrier {
        Carrier::Routes
    }

    fn windows_conflist(
        &self,
        windows: &WindowsPods<'_>,
        pods: Deferred<PodNetwork>,
        _: &Cluster,
        _: &Host,
    ) -> Conflist<Plugin> {
        windows.bridge(pods, WINDOWS_CNI_LEASES)
    }

    fn linux_conflist(&self, cluster: &Cluster, pods: Deferred<PodNetwork>) -> Option<String> {
        let routes = LinuxRoutes {
            network: cluster.spec.network.cni_name.as_str(),
            pods: pods.map(PodNetwork::net),
        };
        Some(casement_net::text(&routes.conflist()))
    }

    fn hns_network(&self, cluster: &Cluster, pods: Deferred<PodNetwork>) -> Option<NetworkSpec> {
        Some(network(cluster, pods))
    }

    fn hns_endpoint(&self, cluster: &Cluster, pods: Deferred<PodNetwork>) -> Option<EndpointSpec> {
        Some(endpoint(cluster, pods))
    }

    fn plugins(&self) -> Vec<Program> {
        vec![Program::WinBridge, Program::HostLocal]
    }

    fn windows_steps(
        &self,
        steps: &mut Steps,
        kubelet: &Kubelet<'_>,
        pods: PodNetwork,
        facts: &ClusterFacts,
    ) -> Result<Vec<String>, PlanError> {
        let (cluster, host) = (kubelet.cluster, kubelet.host);
        bridge(steps, cluster, host, pods)?;
        forwarding_and_routes(steps, cluster, host, facts)?;
        Ok(vec!["hns-endpoint".to_owned()])
    }

    fn linux_steps(
        &self,
        steps: &mut Steps,
        cluster: &Cluster,
        host: &Host,
        facts: &ClusterFacts,
    ) -> Result<(), PlanError> {
        routes_to_peers(steps, host, facts, &[])?;
        // An existing cluster has its own CNI configuration.
        match cluster.spec.existing {
            Some(_) => Ok(()),
            None => linux::conflist(steps, cluster, host, facts),
        }
    }

    /// The conflist and the routes come from casement's own service.
    fn supports_host_process(&self) -> bool {
        false
    }

    fn unsupported(&self, cluster: &Cluster) -> Option<Unsupported> {
        let name = &cluster.spec.network.hns_network;
        let help = "remove it; the default is `cbr0`";
        (name.as_str() != "cbr0").then(|| ("hnsNetwork", name.to_string(), help))
    }
}

fn network(cluster: &Cluster, pods: Deferred<PodNetwork>) -> NetworkSpec {
    NetworkSpec::bridge(cluster.spec.network.hns_network.as_str(), pods)
}

fn endpoint(cluster: &Cluster, pods: Deferred<PodNetwork>) -> EndpointSpec {
    EndpointSpec::of_host(cluster.spec.network.hns_network.as_str(), pods)
}

/// The L2Bridge network of the pods, and the host's endpoint in it.
fn bridge(
    steps: &mut Steps,
    cluster: &Cluster,
    host: &Host,
    pods: PodNetwork,
) -> Result<(), PlanError> {
    let pods = Deferred::Known(pods);
    let name = cluster.spec.network.hns_network.as_str();
    let network = hns::network(network(cluster, pods), host)?;
    let endpoint = hns::endpoint(endpoint(cluster, pods), name, host)?;
    let adapter = windows::adapter_settings(steps, host)?;
    steps.add_disruptive(HNS_NETWORK, &[adapter], Resource::HnsNetwork(network))?;
    let endpoint = Resource::HnsEndpoint(endpoint);
    steps.add("hns-endpoint", &[HNS_NETWORK], endpoint)
}

fn forwarding_and_routes(
    steps: &mut Steps,
    cluster: &Cluster,
    host: &Host,
    facts: &ClusterFacts,
) -> Result<(), PlanError> {
    let management = InterfaceRef::Address(host.address.into());
    let pods = InterfaceRef::HnsNetwork(cluster.spec.network.hns_network.to_string());
    for (id, interface) in [("forwarding-host", management), ("forwarding-pods", pods)] {
        let forwarding = Resource::Forwarding(Forwarding { interface });
        steps.add(id, &["hns-endpoint"], forwarding)?;
    }
    routes_to_peers(steps, host, facts, &[HNS_NETWORK])
}

fn routes_to_peers(
    steps: &mut Steps,
    host: &Host,
    facts: &ClusterFacts,
    after: &[&str],
) -> Result<(), PlanError> {
    for route in routes::to_others(host.name.as_str(), &facts.peers()) {
        let id = step_ids::route(route.destination.network());
        let route = Route {
            destination: route.destination.into(),
            next_hop: route.via.into(),
            interface: InterfaceRef::Address(host.address.into()),
        };
        steps.add(&id, after, Resource::Route(route))?;
    }
    Ok(())
}
