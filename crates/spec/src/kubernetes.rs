//! Kubernetes itself, the control plane, and how nodes join it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use camino::Utf8PathBuf;
use ipnet::IpNet;
use serde::Serialize;

use crate::named::named;
use crate::text::checked_text;
use crate::{Cidrs, DomainName, Endpoint, KubernetesVersion, defaults};

/// Kubernetes itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Kubernetes {
    /// The version that nodes run.
    pub version: KubernetesVersion,
    /// Where pods get their addresses from.
    pub pod_cidr: Cidrs,
    /// Where services get their addresses from.
    pub service_cidr: Cidrs,
    /// The API server as nodes reach it; `None` where an existing cluster says
    /// so, or the first control-plane host is it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// What service names end with, where it was said; see
    /// [`Kubernetes::domain`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_domain: Option<DomainName>,
    /// Where pods ask for names, where it was said; see [`Kubernetes::dns`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns_ip: Option<IpAddr>,
    /// What is switched on or off beside the version's own defaults.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<FeatureGate, bool>,
    /// Who gives each node its pod network.
    pub cidr_allocation: CidrAllocation,
}

impl Kubernetes {
    /// What service names end with. An existing cluster's own word stands before
    /// the default, but not before the file's.
    pub fn domain(&self) -> DomainName {
        let said = self.cluster_domain.clone();
        said.unwrap_or_else(defaults::cluster_domain)
    }

    /// Where pods ask for names: as the file says, else the tenth address of the
    /// first service network, as kubeadm has it.
    pub fn dns(&self) -> IpAddr {
        if let Some(said) = self.dns_ip {
            return said;
        }
        match self.service_cidr.iter().next() {
            Some(IpNet::V6(net)) => IpAddr::V6((u128::from(net.network()) + 10).into()),
            Some(IpNet::V4(net)) => IpAddr::V4(u32::from(net.network()).saturating_add(10).into()),
            None => IpAddr::V4(self.service_cidr.net().network()),
        }
    }
}

checked_text! {
    /// The name of a feature gate, such as `WinDSR`.
    pub struct FeatureGate("feature gate", gate_fault);
}

fn gate_fault(text: &str) -> Option<&'static str> {
    let good = text.len() <= 100
        && text.starts_with(|c: char| c.is_ascii_uppercase())
        && text.chars().all(|c| c.is_ascii_alphanumeric());
    (!good).then_some("it is a capital letter and then letters and digits, such as `WinDSR`")
}

named! {
    /// Who gives each node its pod network.
    pub enum CidrAllocation {
        /// The controller manager.
        Controller = "controller",
        /// The file: `hosts[].podCidr`.
        Hosts = "hosts",
    }
}

/// A control plane that exists already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Existing {
    /// The file with which to talk to it.
    pub kubeconfig: Utf8PathBuf,
}

named! {
    /// By what means a node joins.
    pub enum JoinMethod {
        /// `kubeadm join`
        Kubeadm = "kubeadm",
        /// The kubelet's own TLS bootstrap, for clusters not made by kubeadm.
        Bootstrap = "bootstrap",
    }
}

/// How nodes join.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Join {
    /// By what means.
    pub method: JoinMethod,
}

impl Default for Join {
    fn default() -> Self {
        let method = JoinMethod::Kubeadm;
        Self { method }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_asked_for_at_the_tenth_service_address() {
        let mut kubernetes = Kubernetes {
            version: "1.36.3".parse().unwrap(),
            pod_cidr: defaults::pod_cidr(),
            service_cidr: defaults::service_cidr(),
            endpoint: None,
            cluster_domain: None,
            dns_ip: None,
            feature_gates: BTreeMap::new(),
            cidr_allocation: CidrAllocation::Controller,
        };
        assert_eq!(kubernetes.dns().to_string(), "10.96.0.10");
        assert_eq!(kubernetes.domain().as_str(), "cluster.local");
        let v4 = "10.96.0.0/12".parse().unwrap();
        let v6 = "fd00:96::/112".parse().unwrap();
        kubernetes.service_cidr = Cidrs::two_stacks(v4, v6, true);
        assert_eq!(kubernetes.dns().to_string(), "fd00:96::a");
        kubernetes.dns_ip = "10.233.0.3".parse().ok();
        assert_eq!(kubernetes.dns().to_string(), "10.233.0.3");
    }
}
