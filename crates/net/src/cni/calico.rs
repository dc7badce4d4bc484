//! The Calico conflist on Windows, as written by the Calico installer.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use serde::Serialize;

use super::Capabilities;

/// The Calico plugin, which creates the pod network itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Calico {
    #[serde(rename = "type")]
    plugin_type: &'static str,
    windows_use_single_network: bool,
    mode: &'static str,
    vxlan_mac_prefix: &'static str,
    vxlan_vni: u32,
    policy: TypeOnly,
    log_level: &'static str,
    log_file_path: &'static str,
    capabilities: Capabilities,
    #[serde(rename = "DNS")]
    dns: Dns,
    nodename: String,
    nodename_file: &'static str,
    nodename_file_optional: bool,
    datastore_type: &'static str,
    kubernetes: CalicoKubernetes,
    ipam: CalicoIpam,
    policies: [Policy; 2],
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct TypeOnly {
    #[serde(rename = "type")]
    plugin_type: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Dns {
    #[serde(rename = "Nameservers")]
    nameservers: [Ipv4Addr; 1],
    #[serde(rename = "Search")]
    search: [String; 1],
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct CalicoKubernetes {
    kubeconfig: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct CalicoIpam {
    #[serde(rename = "type")]
    plugin_type: &'static str,
    subnet: &'static str,
}

impl Calico {
    pub fn vxlan(vni: u32, node: &str, services: Ipv4Net, dns: Ipv4Addr, domain: &str) -> Self {
        Self {
            plugin_type: "calico",
            windows_use_single_network: true,
            mode: "vxlan",
            vxlan_mac_prefix: "0E-2A",
            vxlan_vni: vni,
            policy: TypeOnly { plugin_type: "k8s" },
            log_level: "info",
            log_file_path: "c:/var/log/calico/cni/cni.log",
            capabilities: Capabilities {
                dns: true,
                port_mappings: false,
            },
            dns: Dns {
                nameservers: [dns],
                search: [format!("svc.{domain}")],
            },
            nodename: node.to_owned(),
            nodename_file: "c:/var/run/calico/nodename",
            nodename_file_optional: true,
            datastore_type: "kubernetes",
            kubernetes: CalicoKubernetes {
                kubeconfig: "c:/etc/cni/net.d/calico-kubeconfig",
            },
            ipam: CalicoIpam {
                plugin_type: "calico-ipam",
                subnet: "usePodCidr",
            },
            policies: [
                policy(Value::OutboundNat {
                    exceptions: [services],
                }),
                policy(Value::Route {
                    destination_prefix: services,
                    need_encap: true,
                }),
            ],
        }
    }
}

/// The format of the Calico installer: flat values as in HNS v1, the route name as in
/// HCN; the plugin converts it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Policy {
    name: &'static str,
    value: Value,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "Type")]
enum Value {
    #[serde(rename = "OutBoundNAT")]
    OutboundNat {
        #[serde(rename = "ExceptionList")]
        exceptions: [Ipv4Net; 1],
    },
    #[serde(rename = "SDNROUTE", rename_all = "PascalCase")]
    Route {
        destination_prefix: Ipv4Net,
        need_encap: bool,
    },
}

fn policy(value: Value) -> Policy {
    Policy {
        name: "EndpointPolicy",
        value,
    }
}
