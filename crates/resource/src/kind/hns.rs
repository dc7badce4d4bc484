//! `hnsNetwork`, `hnsEndpoint`, `sourceVip`: objects of the Windows Host Networking
//! Service.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use crate::diff::compare;
use crate::{Change, Diff};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum HnsNetworkType {
    /// Pods on the host's own segment, addresses rewritten by the switch.
    L2Bridge,
    /// Pods in VXLAN between hosts.
    Overlay,
}

impl fmt::Display for HnsNetworkType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::L2Bridge => "L2Bridge",
            Self::Overlay => "Overlay",
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HnsNetwork {
    pub name: String,
    #[serde(rename = "type")]
    pub network_type: HnsNetworkType,
    /// The addresses of its pods.
    pub subnet: IpNet,
    /// The gateway that HNS reserves.
    pub gateway: IpAddr,
    /// The VNI of an overlay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<u32>,
    /// Created on the adapter with this address.
    pub adapter_address: IpAddr,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HnsSubnet {
    pub subnet: IpNet,
    pub gateway: Option<IpAddr>,
}

/// Found by name, ignoring case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HnsNetworkFacts {
    pub id: String,
    pub name: String,
    /// In HNS's spelling.
    #[serde(rename = "type")]
    pub network_type: String,
    pub subnets: Vec<HnsSubnet>,
    /// The host's address on it; none if HNS does not report it.
    pub management_address: Option<IpAddr>,
}

impl HnsNetwork {
    /// None: the network does not exist.
    #[must_use]
    pub fn diff(&self, facts: Option<&HnsNetworkFacts>) -> Diff {
        let wanted = format!("{} {} via {}", self.network_type, self.subnet, self.gateway);
        let Some(facts) = facts else {
            return Diff::Changes(vec![Change::missing("network", wanted)]);
        };
        let mut changes = Vec::new();
        if !facts
            .network_type
            .eq_ignore_ascii_case(&self.network_type.to_string())
        {
            changes.push(Change::field(
                "type",
                &facts.network_type,
                self.network_type,
            ));
        }
        let ours = HnsSubnet {
            subnet: self.subnet,
            gateway: Some(self.gateway),
        };
        if facts.subnets.as_slice() != [ours] {
            let shown: Vec<_> = facts.subnets.iter().map(ToString::to_string).collect();
            let after = format!("{} via {}", self.subnet, self.gateway);
            changes.push(Change::field("subnets", shown.join(", "), after));
        }
        if let Some(found) = facts.management_address {
            compare(&mut changes, "adapter", &found, &self.adapter_address);
        }
        if !changes.is_empty() {
            return Diff::Changes(changes);
        }
        Diff::InSync {
            reason: format!("{wanted}, id {}", facts.id),
            unobserved: self.unobserved(facts),
        }
    }
}

impl HnsNetwork {
    fn unobserved(&self, facts: &HnsNetworkFacts) -> Vec<String> {
        let adapter = facts.management_address.is_none().then_some("adapter");
        let isolation = self.isolation.map(|_| "isolation");
        let fields = adapter.into_iter().chain(isolation);
        fields.map(str::to_owned).collect()
    }
}

impl fmt::Display for HnsSubnet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.gateway {
            Some(gateway) => write!(formatter, "{} via {gateway}", self.subnet),
            None => write!(formatter, "{}", self.subnet),
        }
    }
}

/// The host's own endpoint in a network, attached to the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HnsEndpoint {
    pub name: String,
    pub network: String,
    pub address: IpAddr,
}

/// Found by name, ignoring case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HnsEndpointFacts {
    pub id: String,
    pub name: String,
    pub network: String,
    pub address: Option<IpAddr>,
    /// Whether it is attached to the host's compartment; none if HNS does not report it.
    pub attached: Option<bool>,
}

impl HnsEndpoint {
    /// None: the endpoint does not exist.
    #[must_use]
    pub fn diff(&self, facts: Option<&HnsEndpointFacts>) -> Diff {
        diff_endpoint(&self.network, self.address, facts, true)
    }
}

/// The source address of kube-proxy: an endpoint that is not attached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SourceVip {
    pub network: String,
    pub address: IpAddr,
}

impl SourceVip {
    /// The name of the endpoint that holds the address.
    #[must_use]
    pub fn endpoint_name(&self) -> String {
        format!("{}_source_vip", self.network)
    }

    /// None: the endpoint does not exist.
    #[must_use]
    pub fn diff(&self, facts: Option<&HnsEndpointFacts>) -> Diff {
        diff_endpoint(&self.network, self.address, facts, false)
    }
}

fn diff_endpoint(
    network: &str,
    address: IpAddr,
    facts: Option<&HnsEndpointFacts>,
    attached: bool,
) -> Diff {
    let Some(facts) = facts else {
        return Diff::Changes(vec![Change::missing(
            "endpoint",
            format!("{address} in {network}"),
        )]);
    };
    let mut changes = Vec::new();
    if !facts.network.eq_ignore_ascii_case(network) {
        changes.push(Change::field("network", &facts.network, network));
    }
    match facts.address {
        None => changes.push(Change::missing("address", address)),
        Some(found) => compare(&mut changes, "address", &found, &address),
    }
    if attached && facts.attached == Some(false) {
        changes.push(Change::field("attached", "no", "to the host"));
    }
    if !changes.is_empty() {
        return Diff::Changes(changes);
    }
    Diff::InSync {
        reason: format!("{address} in {network}, id {}", facts.id),
        unobserved: match (attached, facts.attached) {
            (true, None) => vec!["attached".to_owned()],
            _ => Vec::new(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network() -> HnsNetwork {
        HnsNetwork {
            name: "cbr0".to_owned(),
            network_type: HnsNetworkType::L2Bridge,
            subnet: "10.244.1.0/24".parse().unwrap(),
            gateway: "10.244.1.1".parse().unwrap(),
            isolation: None,
            adapter_address: "198.18.0.11".parse().unwrap(),
        }
    }

    fn found() -> HnsNetworkFacts {
        HnsNetworkFacts {
            id: "ID".to_owned(),
            name: "CBR0".to_owned(),
            network_type: "l2bridge".to_owned(),
            subnets: vec![HnsSubnet {
                subnet: network().subnet,
                gateway: Some(network().gateway),
            }],
            management_address: None,
        }
    }

    #[test]
    fn fields_that_hns_does_not_report_are_listed() {
        let Diff::InSync { unobserved, .. } = network().diff(Some(&found())) else {
            panic!("an equal network differs");
        };
        assert_eq!(unobserved, ["adapter"]);
    }

    #[test]
    fn another_subnet_is_a_change() {
        let mut other = found();
        other.subnets[0].subnet = "10.244.2.0/24".parse().unwrap();
        assert!(!network().diff(Some(&other)).in_sync());
        assert!(!network().diff(None).in_sync());
    }

    #[test]
    fn a_detached_endpoint_is_a_change() {
        let wanted = HnsEndpoint {
            name: "cbr0_ep".to_owned(),
            network: "cbr0".to_owned(),
            address: "10.244.1.2".parse().unwrap(),
        };
        let mut facts = HnsEndpointFacts {
            id: "ID".to_owned(),
            name: "cbr0_ep".to_owned(),
            network: "cbr0".to_owned(),
            address: Some(wanted.address),
            attached: Some(false),
        };
        assert!(!wanted.diff(Some(&facts)).in_sync());
        facts.attached = Some(true);
        assert!(wanted.diff(Some(&facts)).in_sync());
    }
}
