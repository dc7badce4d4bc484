//! Kubernetes settings, the control plane, and how nodes join it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use camino::Utf8PathBuf;
use ipnet::IpNet;
use serde::Serialize;

use crate::named::named;
use crate::text::checked_text;
use crate::{Cidrs, DomainName, Endpoint, KubernetesVersion, defaults};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Kubernetes {
    pub version: KubernetesVersion,
    pub pod_cidr: Cidrs,
    pub service_cidr: Cidrs,
    /// `None`: taken from the existing cluster, else the first control-plane host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// As written in the file; see [`Kubernetes::domain`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_domain: Option<DomainName>,
    /// As written in the file; see [`Kubernetes::dns`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns_ip: Option<IpAddr>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<FeatureGate, bool>,
    pub cidr_allocation: CidrAllocation,
}

impl Kubernetes {
    /// The file takes precedence over the existing cluster, which takes precedence
    /// over the default.
    pub fn domain(&self) -> DomainName {
        let domain = self.cluster_domain.clone();
        domain.unwrap_or_else(defaults::cluster_domain)
    }

    /// As written in the file, else the tenth address of the first service network,
    /// as in kubeadm.
    pub fn dns(&self) -> IpAddr {
        if let Some(address) = self.dns_ip {
            return address;
        }
        match self.service_cidr.iter().next() {
            Some(IpNet::V6(net)) => IpAddr::V6((u128::from(net.network()) + 10).into()),
            Some(IpNet::V4(net)) => IpAddr::V4(u32::from(net.network()).saturating_add(10).into()),
            None => IpAddr::V4(self.service_cidr.net().network()),
        }
    }
}

checked_text! {
    pub struct FeatureGate("feature gate", gate_error);
}

fn gate_error(text: &str) -> Option<&'static str> {
    let good = text.len() <= 100
        && text.starts_with(|c: char| c.is_ascii_uppercase())
        && text.chars().all(|c| c.is_ascii_alphanumeric());
    (!good)
        .then_some("expected letters and digits starting with a capital letter, such as `WinDSR`")
}

named! {
    pub enum CidrAllocation {
        Controller = "controller",
        Hosts = "hosts",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Existing {
    pub kubeconfig: Utf8PathBuf,
}

named! {
    pub enum JoinMethod {
        Kubeadm = "kubeadm",
        /// TLS bootstrap by the kubelet, for clusters not created by kubeadm.
        Bootstrap = "bootstrap",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Join {
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
    fn dns_is_the_tenth_service_address() {
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
        kubernetes.service_cidr = Cidrs::dual_stack(v4, v6, true);
        assert_eq!(kubernetes.dns().to_string(), "fd00:96::a");
        kubernetes.dns_ip = "10.233.0.3".parse().ok();
        assert_eq!(kubernetes.dns().to_string(), "10.233.0.3");
    }
}
