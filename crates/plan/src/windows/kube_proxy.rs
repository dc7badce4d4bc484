//! kube-proxy's configuration on Windows.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use serde_json::json;

/// What decides the configuration.
#[derive(Debug, Clone)]
pub struct KubeProxy<'a> {
    /// The Node's name: with another one, local pods would look remote.
    pub node: &'a str,
    /// The node's address, from which the host's MAC is found.
    pub address: Ipv4Addr,
    /// All pods of the cluster.
    pub pods: Ipv4Net,
    /// The HNS network that pods are on.
    pub network: &'a str,
    /// Whom to be towards the API server.
    pub kubeconfig: &'a str,
}

impl KubeProxy<'_> {
    /// The file; JSON is YAML too, and needs no quoting rules of its own.
    pub fn configuration(&self) -> String {
        let document = json!({
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "clientConnection": {"kubeconfig": self.kubeconfig},
            "hostnameOverride": self.node,
            "bindAddress": self.address,
            "mode": "kernelspace",
            "clusterCIDR": self.pods,
            "winkernel": {"networkName": self.network},
        });
        format!("{document:#}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_node_is_named_and_no_source_vip_is_set_on_a_bridge() {
        let text = KubeProxy {
            node: "win1",
            address: Ipv4Addr::new(198, 18, 0, 11),
            pods: "10.244.0.0/16".parse().unwrap(),
            network: "cbr0",
            kubeconfig: r"C:\k\kube-proxy.conf",
        }
        .configuration();
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["hostnameOverride"], "win1");
        assert_eq!(read["winkernel"], json!({"networkName": "cbr0"}));
    }
}
