//! Conflists of Windows nodes.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use serde::Serialize;

use super::policy::PluginPolicy;
use super::{Calico, Capabilities, Conflist, DOCKERSHIM_VERSION, Dialect, EndpointPolicy, VERSION};
use crate::Late;
use crate::pod_network::PodNetwork;

/// What decides the conflist of a Windows node.
#[derive(Debug, Clone)]
pub struct WindowsPods<'a> {
    /// The HNS network's name, which must be the conflist's too.
    pub network: &'a str,
    /// Destinations that see a pod's own address.
    pub not_translated: Vec<Ipv4Net>,
    /// The services, which the node itself answers for.
    pub services: Ipv4Net,
    /// The node's address.
    pub node: Ipv4Addr,
    /// What HNS is told.
    pub dialect: Dialect,
    /// Whether the kubelet's own Docker support reads the file.
    pub dockershim: bool,
}

/// A plugin of a chain on Windows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Plugin {
    /// One that speaks to HNS.
    Direct(DirectPlugin),
    /// flannel's, which fills in the node's pod network and calls such a one.
    Flannel(FlannelPlugin),
    /// Calico's.
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

/// flannel's plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FlannelPlugin {
    #[serde(rename = "type")]
    plugin_type: &'static str,
    capabilities: Capabilities,
    delegate: FlannelDelegate,
}

/// What the plugin that speaks to HNS is told; flannel's adds name and IPAM,
/// and refuses a file that has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FlannelDelegate {
    #[serde(rename = "type")]
    plugin_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    api_version: Option<u8>,
    policies: Vec<PluginPolicy>,
}

/// `host-local`, which gives pods their addresses.
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
    subnet: Late<Ipv4Net>,
    range_start: Late<Ipv4Addr>,
    range_end: Late<Ipv4Addr>,
}

impl HostLocal {
    /// All pod addresses of a node but those that HNS and the host have.
    pub fn new(pods: Late<PodNetwork>, leases: &str) -> Self {
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
    /// Pods on a bridge, without a daemon's plugin.
    pub fn bridge(&self, pods: Late<PodNetwork>, leases: &str) -> Conflist<Plugin> {
        let delegate = self.delegate("win-bridge", &[]);
        self.direct(delegate, HostLocal::new(pods, leases))
    }

    /// Pods on an overlay, without a daemon's plugin.
    pub fn overlay(&self, pods: Late<PodNetwork>, leases: &str) -> Conflist<Plugin> {
        let delegate = self.delegate("win-overlay", &[self.provider()]);
        self.direct(delegate, HostLocal::new(pods, leases))
    }

    /// Pods on a bridge that flanneld makes.
    pub fn flannel_bridge(&self) -> Conflist<Plugin> {
        let own = EndpointPolicy::Encapsulated(Ipv4Net::from(self.node));
        self.flannel(self.delegate("win-bridge", &[own]))
    }

    /// Pods on an overlay that flanneld makes.
    pub fn flannel_overlay(&self) -> Conflist<Plugin> {
        self.flannel(self.delegate("win-overlay", &[self.provider()]))
    }

    /// Pods on an overlay that Calico makes.
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
                .map(|policy| policy.in_dialect(self.dialect))
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
