//! kube-proxy's configuration on Windows; on Linux it is kubeadm's DaemonSet.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use casement_catalog::Behaviour;
use casement_net::Late;
use casement_spec::{Cluster, Host, HostOs};
use ipnet::Ipv4Net;
use serde::Serialize;

use crate::release::Release;

/// `KubeProxyConfiguration`, the fields that a Windows node decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KubeProxy {
    api_version: &'static str,
    kind: &'static str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    feature_gates: BTreeMap<String, bool>,
    client_connection: ClientConnection,
    hostname_override: String,
    bind_address: Ipv4Addr,
    mode: &'static str,
    #[serde(rename = "clusterCIDR")]
    cluster_cidr: Ipv4Net,
    winkernel: Winkernel,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct ClientConnection {
    kubeconfig: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Winkernel {
    network_name: String,
    /// On an overlay only: a bridge has none, and the field is refused there.
    #[serde(skip_serializing_if = "Option::is_none")]
    source_vip: Option<Late<Ipv4Addr>>,
    #[serde(rename = "enableDSR", skip_serializing_if = "std::ops::Not::not")]
    enable_dsr: bool,
}

impl KubeProxy {
    /// The configuration of a host; the source VIP is the address of the node's
    /// pod network that no pod gets.
    ///
    /// The Node's name is given: with another one, local pods would look remote.
    /// So is the address: the host's MAC is found by it.
    pub fn new(
        cluster: &Cluster,
        host: &Host,
        release: Release,
        source_vip: Late<Ipv4Addr>,
        kubeconfig: &str,
    ) -> Self {
        let spec = &cluster.spec;
        let overlay = spec.network.mode().is_vxlan();
        let mut gates: BTreeMap<String, bool> = crate::kubelet::gates(cluster, release);
        if overlay && release.holds(Behaviour::OverlayNeedsDualStackOff) {
            gates.insert("IPv6DualStack".to_owned(), false);
        }
        Self {
            api_version: "kubeproxy.config.k8s.io/v1alpha1",
            kind: "KubeProxyConfiguration",
            feature_gates: gates,
            client_connection: ClientConnection {
                kubeconfig: kubeconfig.to_owned(),
            },
            hostname_override: host.name.as_str().to_owned(),
            bind_address: host.address,
            mode: "kernelspace",
            cluster_cidr: spec.kubernetes.pod_cidr.net(),
            winkernel: Winkernel {
                network_name: spec.network.hns_network.as_str().to_owned(),
                source_vip: overlay.then_some(source_vip),
                enable_dsr: returns_directly(cluster, host, release),
            },
        }
    }

    /// The file; JSON is YAML too, and needs no quoting rules of its own.
    pub fn text(&self) -> String {
        casement_net::text(self)
    }
}

/// Direct server return saves a block of ports for each service; it is used on
/// an overlay, where neither Kubernetes nor Windows has to be asked whether it
/// is there.
pub(crate) fn returns_directly(cluster: &Cluster, host: &Host, release: Release) -> bool {
    cluster.spec.network.mode().is_vxlan()
        && release.on_by_default("WinDSR")
        && matches!(host.os, HostOs::Windows2022 | HostOs::Windows2025)
}
