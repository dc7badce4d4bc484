//! `hnsNetwork`, `hnsEndpoint`, `sourceVip`: what the Host Networking Service
//! of Windows should have.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use crate::diff::compare;
use crate::{Change, Diff};

/// The kind of an HNS network.
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

/// A network that HNS should have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HnsNetwork {
    /// Its name.
    pub name: String,
    /// Its kind.
    #[serde(rename = "type")]
    pub network_type: HnsNetworkType,
    /// The addresses of its pods.
    pub subnet: IpNet,
    /// The gateway that HNS reserves.
    pub gateway: IpAddr,
    /// The number that keeps an overlay apart from others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<u32>,
    /// The adapter it is made on: the one that has this address of the host.
    pub adapter_address: IpAddr,
}

/// One subnet of a network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HnsSubnet {
    /// Its addresses.
    pub subnet: IpNet,
    /// Its gateway, if it has one.
    pub gateway: Option<IpAddr>,
}

/// A network as found; looked up by name, whatever its case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HnsNetworkFacts {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its kind, as HNS spells it.
    #[serde(rename = "type")]
    pub network_type: String,
    /// Its subnets.
    pub subnets: Vec<HnsSubnet>,
    /// The host's address on it; none where HNS does not say.
    pub management_address: Option<IpAddr>,
}

impl HnsNetwork {
    /// What is to change; none means that there is no such network.
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
        Diff::Right {
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
    /// Its name.
    pub name: String,
    /// The network's name.
    pub network: String,
    /// Its address.
    pub address: IpAddr,
}

/// An endpoint as found; looked up by name, whatever its case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HnsEndpointFacts {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The network's name.
    pub network: String,
    /// Its address, if it has one.
    pub address: Option<IpAddr>,
    /// Whether it is attached to the host's own compartment; none where HNS
    /// does not say.
    pub attached: Option<bool>,
}

impl HnsEndpoint {
    /// What is to change; none means that there is no such endpoint.
    #[must_use]
    pub fn diff(&self, facts: Option<&HnsEndpointFacts>) -> Diff {
        diff_endpoint(&self.network, self.address, facts, true)
    }
}

/// An address of the network that kube-proxy uses as source: an endpoint that
/// is attached to nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SourceVip {
    /// The network's name.
    pub network: String,
    /// The address.
    pub address: IpAddr,
}

impl SourceVip {
    /// The name of the endpoint that holds the address.
    #[must_use]
    pub fn endpoint_name(&self) -> String {
        format!("{}_source_vip", self.network)
    }

    /// What is to change; none means that there is no such endpoint.
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
        changes.push(Change::field("attached", "to nothing", "to the host"));
    }
    if !changes.is_empty() {
        return Diff::Changes(changes);
    }
    Diff::Right {
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
    fn what_hns_does_not_say_is_listed() {
        let Diff::Right { unobserved, .. } = network().diff(Some(&found())) else {
            panic!("an equal network was taken for another");
        };
        assert_eq!(unobserved, ["adapter"]);
    }

    #[test]
    fn another_subnet_is_a_change() {
        let mut other = found();
        other.subnets[0].subnet = "10.244.2.0/24".parse().unwrap();
        assert!(!network().diff(Some(&other)).is_right());
        assert!(!network().diff(None).is_right());
    }

    #[test]
    fn an_endpoint_that_is_attached_to_nothing_is_no_gateway() {
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
        assert!(!wanted.diff(Some(&facts)).is_right());
        facts.attached = Some(true);
        assert!(wanted.diff(Some(&facts)).is_right());
    }
}
