//! What CNI plugins on Windows read.

use ipnet::Ipv4Net;
use serde_json::{Value, json};

use crate::pod_network::PodNetwork;

/// An L2Bridge network with `win-bridge` and `host-local`, as a conflist.
#[derive(Debug, Clone)]
pub struct WinBridge<'a> {
    /// The HNS network's name, which must be the conflist's too.
    pub network: &'a str,
    /// This node's pods.
    pub pods: PodNetwork,
    /// Destinations that see a pod's own address: pods, services, nodes.
    pub not_translated: &'a [Ipv4Net],
    /// The services, which the node itself answers for.
    pub services: Ipv4Net,
    /// Where `host-local` remembers what it gave away.
    pub leases: &'a str,
}

impl WinBridge<'_> {
    /// The document, the same for the same input.
    pub fn conflist(&self) -> Value {
        let policy = |value: Value| json!({"name": "EndpointPolicy", "value": value});
        json!({
            "cniVersion": "1.0.0",
            "name": self.network,
            "plugins": [{
                "type": "win-bridge",
                "apiVersion": 2,
                "capabilities": {"dns": true, "portMappings": true},
                "ipam": {
                    "type": "host-local",
                    "dataDir": self.leases,
                    "ranges": [[{
                        "subnet": self.pods.net(),
                        "rangeStart": self.pods.first_pod(),
                        "rangeEnd": self.pods.last_pod(),
                    }]],
                },
                "policies": [
                    policy(json!({
                        "Type": "OutBoundNAT",
                        "Settings": {"Exceptions": self.not_translated},
                    })),
                    policy(json!({
                        "Type": "SDNRoute",
                        "Settings": {"DestinationPrefix": self.services, "NeedEncap": true},
                    })),
                ],
            }],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_never_given_the_gateways_addresses() {
        let document = WinBridge {
            network: "cbr0",
            pods: PodNetwork::new("10.244.1.0/24".parse().unwrap()).unwrap(),
            not_translated: &["10.244.0.0/16".parse().unwrap()],
            services: "10.96.0.0/16".parse().unwrap(),
            leases: r"C:\var\lib\cni\networks",
        }
        .conflist();
        let plugin = &document["plugins"][0];
        assert_eq!(document["name"], "cbr0");
        let range = &plugin["ipam"]["ranges"][0][0];
        assert_eq!(range["rangeStart"], "10.244.1.3");
        assert_eq!(range["rangeEnd"], "10.244.1.254");
        let exceptions = &plugin["policies"][0]["value"]["Settings"]["Exceptions"];
        assert_eq!(exceptions[0], "10.244.0.0/16");
    }
}
