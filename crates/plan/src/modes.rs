//! The network modes. What a mode means for a plan (its documents, programs and steps, and
//! what `apply` does not support in it) stands in one module per mode.
//!
//! A new mode is a variant of [`casement_spec::Backend`], a module here and an arm of
//! [`of`]. Properties that crates before this one need, such as the CNI that a cluster must
//! run, are methods of [`casement_spec::NetworkMode`].

mod calico_vxlan;
mod flannel;
mod flannel_host_gw;
mod flannel_overlay;
mod l3_routes;

use casement_net::Deferred;
use casement_net::cni::{Conflist, Plugin, WindowsPods};
use casement_net::flannel::NetConf;
use casement_net::hns::{EndpointSpec, NetworkSpec, NetworkType};
use casement_net::pod_network::PodNetwork;
use casement_net::routes::Carrier;
use casement_spec::{Backend, Cluster, Host, Program};
use serde_json::Value;

use crate::facts::ClusterFacts;
use crate::host_process::Server;
use crate::kubelet::Kubelet;
use crate::steps::{PlanError, Steps};

use calico_vxlan::CalicoVxlan;
use flannel_host_gw::FlannelHostGw;
use flannel_overlay::FlannelOverlay;
use l3_routes::L3Routes;

/// Why `apply` does not support a field of `network` in a mode: field, value, help.
pub(crate) type Unsupported = (&'static str, String, &'static str);

pub(crate) trait Mode {
    /// What carries packets between hosts.
    fn carrier(&self) -> Carrier;

    /// flannel's `net-conf.json`.
    fn net_conf(&self, _cluster: &Cluster) -> Option<NetConf> {
        None
    }

    /// The agent's program, which runs as a service on Windows hosts.
    fn daemon(&self) -> Option<&'static str> {
        None
    }

    fn conflist_name(&self, _host: &Host) -> &'static str {
        "10-casement.conflist"
    }

    fn windows_conflist(
        &self,
        windows: &WindowsPods<'_>,
        pods: Deferred<PodNetwork>,
        cluster: &Cluster,
        host: &Host,
    ) -> Conflist<Plugin>;

    /// `None` if another installer writes it.
    fn linux_conflist(&self, _cluster: &Cluster, _pods: Deferred<PodNetwork>) -> Option<String> {
        None
    }

    /// The HNS network of the pods; `None` where a daemon creates it.
    fn hns_network(&self, _cluster: &Cluster, _pods: Deferred<PodNetwork>) -> Option<NetworkSpec> {
        None
    }

    /// The HNS endpoint of the host; `None` where there is none, or a daemon creates it.
    fn hns_endpoint(
        &self,
        _cluster: &Cluster,
        _pods: Deferred<PodNetwork>,
    ) -> Option<EndpointSpec> {
        None
    }

    /// The type of the HNS network that keeps the vSwitch alive while a daemon creates and
    /// deletes the network of the pods. `None` where casement creates that one, once, and
    /// where the CNI's own installer creates it.
    fn external_network(&self) -> Option<NetworkType> {
        None
    }

    /// Whether Windows hosts reach remote pods through HNS remote-subnet policies that an
    /// agent maintains.
    fn has_remote_subnets(&self) -> bool {
        false
    }

    /// CNI plugins for Windows hosts.
    fn plugins(&self) -> Vec<Program>;

    /// The agent's own programs for Windows hosts; not needed for HostProcess containers.
    fn agent_programs(&self) -> Vec<Program> {
        Vec::new()
    }

    /// Whether casement writes the conflist of Windows hosts.
    fn writes_windows_conflist(&self) -> bool {
        true
    }

    /// Stage network of a Windows host. Returns the steps after which the pod network works.
    fn windows_steps(
        &self,
        steps: &mut Steps,
        kubelet: &Kubelet<'_>,
        pods: PodNetwork,
        facts: &ClusterFacts,
    ) -> Result<Vec<String>, PlanError>;

    /// Stage network of a Linux host, besides forwarding.
    fn linux_steps(
        &self,
        _steps: &mut Steps,
        _cluster: &Cluster,
        _host: &Host,
        _facts: &ClusterFacts,
    ) -> Result<(), PlanError> {
        Ok(())
    }

    /// Objects for `components: host-process`, without kube-proxy.
    fn host_process_objects(&self, _cluster: &Cluster, _server: &Server) -> Vec<Value> {
        Vec::new()
    }

    /// The variant of the published kube-proxy image.
    fn kube_proxy_flavor(&self) -> &'static str {
        "flannel"
    }

    /// Whether the agent can run in HostProcess containers.
    fn supports_host_process(&self) -> bool {
        true
    }

    fn unsupported(&self, _cluster: &Cluster) -> Option<Unsupported> {
        None
    }
}

pub(crate) fn of(cluster: &Cluster) -> Box<dyn Mode> {
    match cluster.spec.network.backend {
        Backend::FlannelOverlay { agent, vxlan } => Box::new(FlannelOverlay { agent, vxlan }),
        Backend::FlannelHostGw { agent } => Box::new(FlannelHostGw { agent }),
        Backend::L3Routes => Box::new(L3Routes),
        Backend::CalicoVxlan { vxlan } => Box::new(CalicoVxlan { vxlan }),
    }
}
