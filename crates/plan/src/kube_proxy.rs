//! kube-proxy's configuration on Windows; on Linux it is kubeadm's DaemonSet.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use casement_catalog::{Behavior, windows_of_os};
use casement_net::Deferred;
use casement_spec::{Cluster, Host, Named as _};
use ipnet::Ipv4Net;
use serde::Serialize;

use crate::release::Release;

/// `KubeProxyConfiguration`: the fields that a Windows node needs.
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
    /// On an overlay only; kube-proxy rejects the field on a bridge.
    #[serde(skip_serializing_if = "Option::is_none")]
    source_vip: Option<Deferred<Ipv4Addr>>,
    #[serde(rename = "enableDSR", skip_serializing_if = "std::ops::Not::not")]
    enable_dsr: bool,
}

impl KubeProxy {
    /// The source VIP is an address of the node's pod network that is reserved for it.
    ///
    /// The Node's name is set because local pods would look remote with another one, the bind
    /// address because kube-proxy finds the host's MAC by it.
    pub fn new(
        cluster: &Cluster,
        host: &Host,
        release: Release,
        source_vip: Deferred<Ipv4Addr>,
        kubeconfig: &str,
    ) -> Self {
        let spec = &cluster.spec;
        let overlay = spec.network.mode().is_vxlan();
        let mut gates: BTreeMap<String, bool> = crate::kubelet::gates(cluster, release);
        if overlay && release.holds(Behavior::OverlayNeedsDualStackOff) {
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
                enable_dsr: has_direct_server_return(cluster, host, release),
            },
        }
    }

    /// JSON, which is valid YAML without quoting rules.
    pub fn text(&self) -> String {
        casement_net::text(self)
    }
}

/// Direct server return saves a block of ports per service. It is used on an overlay, with
/// releases of Kubernetes and Windows that support it by default.
pub(crate) fn has_direct_server_return(cluster: &Cluster, host: &Host, release: Release) -> bool {
    cluster.spec.network.mode().is_vxlan()
        && release.on_by_default("WinDSR")
        && windows_of_os(host.os.name()).is_some_and(|release| release.direct_server_return)
}
