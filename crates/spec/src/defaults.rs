//! All defaults.
//!
//! The other fields are required: `metadata.name`, `kubernetes.version`,
//! `network.mode`, and `name`, `address` and `os` of each host. No default would be
//! safe for them.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use camino::Utf8PathBuf;
use ipnet::Ipv4Net;

use crate::{
    Backend, Cidr, Cidrs, DomainName, NetworkName, OsFamily, Role, SecretRef, Taint, Vni,
    WinRmTransport, WindowsPath,
};

pub fn pod_cidr() -> Cidrs {
    Cidr::truncated(Ipv4Net::new_assert(Ipv4Addr::new(10, 244, 0, 0), 16)).into()
}

/// `kubernetes.serviceCidr`: the kubeadm default.
pub fn service_cidr() -> Cidrs {
    Cidr::truncated(Ipv4Net::new_assert(Ipv4Addr::new(10, 96, 0, 0), 12)).into()
}

/// Prefix length of the pod network of one node: the Kubernetes default.
pub const NODE_PREFIX: u8 = 24;

pub const NODE_PREFIX_6: u8 = 64;

/// The pod network of one node, for examples.
pub fn node_cidr() -> Cidrs {
    Cidr::truncated(Ipv4Net::new_assert(
        Ipv4Addr::new(10, 244, 3, 0),
        NODE_PREFIX,
    ))
    .into()
}

/// The port of `kubernetes.endpoint`: the kubeadm default.
pub const API_PORT: u16 = 6443;

/// `kubernetes.clusterDomain`: the kubeadm default.
#[expect(clippy::expect_used, reason = "a constant, covered by a test")]
pub fn cluster_domain() -> DomainName {
    "cluster.local".parse().expect("a domain name")
}

/// `network.vni`: the smallest that Windows supports.
#[expect(clippy::expect_used, reason = "a constant, covered by a test")]
pub fn vni() -> Vni {
    Vni::try_from(4096).expect("a VNI")
}

/// `network.port`: the only one that Windows supports.
pub const VXLAN_PORT: u16 = 4789;

/// `network.hnsNetwork`: the name that the daemon of each mode uses.
#[expect(clippy::expect_used, reason = "constants, covered by a test")]
pub fn hns_network(backend: Backend) -> NetworkName {
    match backend {
        Backend::FlannelOverlay { vxlan, .. } => format!("flannel.{}", vxlan.vni).parse(),
        Backend::FlannelHostGw { .. } | Backend::L3Routes => "cbr0".parse(),
        Backend::CalicoVxlan { .. } => "Calico".parse(),
    }
    .expect("a name")
}

/// `network.cniName`: the name in the flannel manifest.
#[expect(clippy::expect_used, reason = "a constant, covered by a test")]
pub fn cni_name() -> NetworkName {
    "cbr0".parse().expect("a name")
}

pub fn roles() -> BTreeSet<Role> {
    BTreeSet::from([Role::Worker])
}

/// `hosts[].managed`: the Linux hosts of an existing cluster are managed elsewhere.
pub fn managed(os: OsFamily, existing: bool) -> bool {
    os == OsFamily::Windows || !existing
}

/// `hosts[].taints`: without it, Linux pods without a node selector are scheduled to
/// Windows nodes and fail there.
#[expect(clippy::expect_used, reason = "a constant, covered by a test")]
pub fn taints(os: OsFamily) -> Vec<Taint> {
    match os {
        OsFamily::Windows => vec!["os=windows:NoSchedule".parse().expect("a taint")],
        OsFamily::Linux => Vec::new(),
    }
}

/// `access.ssh.user`: the account that exists on a new host.
pub fn user(os: OsFamily) -> &'static str {
    match os {
        OsFamily::Windows => "Administrator",
        OsFamily::Linux => "root",
    }
}

pub fn ssh_port() -> u16 {
    22
}

pub fn ssh_key() -> SecretRef {
    SecretRef::File(Utf8PathBuf::from("~/.ssh/id_ed25519"))
}

pub fn known_hosts() -> Utf8PathBuf {
    Utf8PathBuf::from("~/.ssh/known_hosts")
}

pub fn winrm_port(transport: WinRmTransport) -> u16 {
    match transport {
        WinRmTransport::Https => 5986,
        WinRmTransport::Http => 5985,
    }
}

pub fn machine_network() -> Cidr {
    Cidr::truncated(Ipv4Net::new_assert(Ipv4Addr::new(10, 0, 0, 0), 24))
}

pub fn lock() -> Utf8PathBuf {
    Utf8PathBuf::from("./casement.lock")
}

/// `windows.baseDir`.
pub const BASE_DIR: &str = r"C:\k";

#[expect(clippy::expect_used, reason = "a constant, covered by a test")]
pub fn base_dir() -> WindowsPath {
    BASE_DIR.parse().expect("a path")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid_and_do_not_overlap() {
        assert_eq!(pod_cidr().to_string(), "10.244.0.0/16");
        assert_eq!(service_cidr().to_string(), "10.96.0.0/12");
        assert!(!pod_cidr().overlaps(service_cidr()));
        assert_eq!(taints(OsFamily::Windows).len(), 1);
        assert_eq!(base_dir().as_str(), r"C:\k");
        assert_eq!(cluster_domain().as_str(), "cluster.local");
        assert_eq!((vni().get(), cni_name().as_str()), (4096, "cbr0"));
    }
}
