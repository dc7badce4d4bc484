//! The HNS networks and endpoints that the agent creates on a Windows host. Those that a
//! daemon creates (flanneld in `flannel-host-gw`, Calico, a HostProcess flanneld) are not
//! among them.

use casement_net::Deferred;
use casement_net::hns::{EndpointSpec, NetworkSpec, NetworkType};
use casement_net::pod_network::PodNetwork;
use casement_resource::{HnsEndpoint, HnsNetwork, HnsNetworkType};
use casement_spec::{Cluster, Host};

use crate::modes;
use crate::steps::PlanError;

/// The network that keeps the vSwitch alive, where the mode has one, and that of the pods.
pub(crate) fn networks(cluster: &Cluster, pods: Deferred<PodNetwork>) -> Vec<NetworkSpec> {
    let own = modes::of(cluster).hns_network(cluster, pods);
    external(cluster).into_iter().chain(own).collect()
}

/// The network that keeps the vSwitch alive while a daemon creates and deletes the network
/// of the pods.
pub(crate) fn external(cluster: &Cluster) -> Option<NetworkSpec> {
    let network_type = modes::of(cluster).external_network();
    network_type.map(NetworkSpec::external)
}

/// A network as a resource, whose adapter the agent selects by the address of the host.
pub(crate) fn network(spec: NetworkSpec, host: &Host) -> Result<HnsNetwork, PlanError> {
    let (Some(subnet), Some(gateway)) = (spec.subnet.known(), spec.gateway.known()) else {
        return Err(PlanError::NoPodNetwork(host.name.to_string()));
    };
    Ok(HnsNetwork {
        name: spec.name,
        network_type: match spec.network_type {
            NetworkType::Overlay => HnsNetworkType::Overlay,
            NetworkType::L2Bridge => HnsNetworkType::L2Bridge,
        },
        subnet,
        gateway,
        isolation: spec.isolation,
        adapter_address: host.address.into(),
    })
}

pub(crate) fn endpoint(
    spec: EndpointSpec,
    network: &str,
    host: &Host,
) -> Result<HnsEndpoint, PlanError> {
    let address = spec.address.known();
    Ok(HnsEndpoint {
        name: spec.name,
        network: network.to_owned(),
        address: address.ok_or_else(|| PlanError::NoPodNetwork(host.name.to_string()))?,
    })
}
