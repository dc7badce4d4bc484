//! The conflists of Windows nodes.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use serde::Serialize;

use super::policy::PluginPolicy;
use super::{Calico, Capabilities, Conflist, DOCKERSHIM_VERSION, Dialect, EndpointPolicy, VERSION};
use crate::Deferred;
use crate::pod_network::PodNetwork;

#[derive(Debug, Clone)]
pub struct WindowsPods<'a> {
    /// The name of the HNS network and of the conflist: they must be equal.
    pub network: &'a str,
    /// Destinations without NAT.
    pub not_translated: Vec<Ipv4Net>,
    pub services: Ipv4Net,
    pub node: Ipv4Addr,
    pub dialect: Dialect,
    /// Whether dockershim reads the file.
    pub dockershim: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Plugin {
    Direct(DirectPlugin),
    /// Adds the pod network of the node and calls a `DirectPlugin`.
    Flannel(FlannelPlugin),
    Calico(Box<Calico>),
}

/// `win-bridge` or `win-overlay`, called by the runtime.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DirectPlugin {
    #[serde(flatten)]
    delegate: FlannelDelegate,
    capabilities: Capabilities,
    ipam: HostLocal,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FlannelPlugin {
    #[serde(rename = "type")]
    plugin_type: &'static str,
    capabilities: Capabilities,
    delegate: FlannelDelegate,
}

/// Without name and IPAM: the flannel plugin adds them, and rejects a file that has
/// them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FlannelDelegate {
    #[serde(rename = "type")]
    plugin_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    api_version: Option<u8>,
    policies: Vec<PluginPolicy>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostLocal {
    #[serde(rename = "type")]
    plugin_type: &'static str,
    data_dir: String,
    ranges: [[Range; 1]; 1],
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Range {
    subnet: Deferred<Ipv4Net>,
    range_start: Deferred<Ipv4Addr>,
    range_end: Deferred<Ipv4Addr>,
}

impl HostLocal {
    /// All pod addresses except those of HNS and the host.
    pub fn new(pods: Deferred<PodNetwork>, leases: &str) -> Self {
        Self {
            plugin_type: "host-local",
            data_dir: leases.to_owned(),
            ranges: [[Range {
                subnet: pods.map(PodNetwork::net),
                range_start: pods.map(PodNetwork::first_pod),
                range_end: pods.map(PodNetwork::last_pod),
            }]],
        }
    }
}

impl WindowsPods<'_> {
    pub fn bridge(&self, pods: Deferred<PodNetwork>, leases: &str) -> Conflist<Plugin> {
        let delegate = self.delegate("win-bridge", &[]);
        self.direct(delegate, HostLocal::new(pods, leases))
    }

    pub fn overlay(&self, pods: Deferred<PodNetwork>, leases: &str) -> Conflist<Plugin> {
        let delegate = self.delegate("win-overlay", &[self.provider()]);
        self.direct(delegate, HostLocal::new(pods, leases))
    }

    pub fn flannel_bridge(&self) -> Conflist<Plugin> {
        let own = EndpointPolicy::Encapsulated(Ipv4Net::from(self.node));
        self.flannel(self.delegate("win-bridge", &[own]))
    }

    pub fn flannel_overlay(&self) -> Conflist<Plugin> {
        self.flannel(self.delegate("win-overlay", &[self.provider()]))
    }

    pub fn calico(&self, calico: Calico) -> Conflist<Plugin> {
        self.conflist(Plugin::Calico(Box::new(calico)))
    }

    fn provider(&self) -> EndpointPolicy {
        EndpointPolicy::ProviderAddress(self.node)
    }

    fn delegate(&self, plugin: &'static str, more: &[EndpointPolicy]) -> FlannelDelegate {
        let common = [
            EndpointPolicy::OutboundNat(self.not_translated.clone()),
            EndpointPolicy::Encapsulated(self.services),
        ];
        let policies = common.iter().chain(more).cloned();
        FlannelDelegate {
            plugin_type: plugin,
            api_version: self.dialect.api_version(),
            policies: policies
                .map(|policy| policy.to_dialect(self.dialect))
                .collect(),
        }
    }

    fn direct(&self, delegate: FlannelDelegate, ipam: HostLocal) -> Conflist<Plugin> {
        self.conflist(Plugin::Direct(DirectPlugin {
            delegate,
            capabilities: Capabilities::ALL,
            ipam,
        }))
    }

    fn flannel(&self, delegate: FlannelDelegate) -> Conflist<Plugin> {
        self.conflist(Plugin::Flannel(FlannelPlugin {
            plugin_type: "flannel",
            capabilities: Capabilities::ALL,
            delegate,
        }))
    }

    fn conflist(&self, plugin: Plugin) -> Conflist<Plugin> {
        Conflist {
            cni_version: if self.dockershim {
                DOCKERSHIM_VERSION
            } else {
                VERSION
            },
            name: self.network.to_owned(),
            plugins: vec![plugin],
        }
    }
}
