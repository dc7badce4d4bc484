//! Every default, in one place.
//!
//! A field that is not here has to be given: `metadata.name`,
//! `kubernetes.version`, `network.mode`, and of each host `name`, `address` and
//! `os`, because no guess at them would be safe.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use camino::Utf8PathBuf;
use ipnet::Ipv4Net;

use crate::{
    Backend, Cidr, Cidrs, DomainName, NetworkName, OsFamily, Role, SecretRef, Taint, Vni,
    WinRmTransport, WindowsPath,
};

/// `kubernetes.podCidr`: flannel's own default.
pub fn pod_cidr() -> Cidrs {
    Cidr::truncated(Ipv4Net::new_assert(Ipv4Addr::new(10, 244, 0, 0), 16)).into()
}

/// `kubernetes.serviceCidr`: kubeadm's own default.
pub fn service_cidr() -> Cidrs {
    Cidr::truncated(Ipv4Net::new_assert(Ipv4Addr::new(10, 96, 0, 0), 12)).into()
}

/// How much of the pod network each node gets: Kubernetes' own default.
pub const NODE_PREFIX: u8 = 24;

/// The same for IPv6.
pub const NODE_PREFIX_6: u8 = 64;

/// One node's share of the default pod network, for examples.
pub fn node_cidr() -> Cidrs {
    Cidr::truncated(Ipv4Net::new_assert(
        Ipv4Addr::new(10, 244, 3, 0),
        NODE_PREFIX,
    ))
    .into()
}

/// The port of `kubernetes.endpoint`: kubeadm's own default.
pub const API_PORT: u16 = 6443;

/// `kubernetes.clusterDomain`: kubeadm's own default.
#[expect(clippy::expect_used, reason = "a constant, covered by a test")]
pub fn cluster_domain() -> DomainName {
    "cluster.local".parse().expect("a domain name")
}

/// `network.vni`: the smallest that Windows takes.
#[expect(clippy::expect_used, reason = "a constant, covered by a test")]
pub fn vni() -> Vni {
    Vni::try_from(4096).expect("a VNI")
}

/// `network.port`: the only one that Windows takes.
pub const VXLAN_PORT: u16 = 4789;

/// `network.hnsNetwork`: what each mode's own daemon calls it.
#[expect(clippy::expect_used, reason = "constants, covered by a test")]
pub fn hns_network(backend: Backend) -> NetworkName {
    match backend {
        Backend::FlannelOverlay { vxlan, .. } => format!("flannel.{}", vxlan.vni).parse(),
        Backend::FlannelHostGw { .. } | Backend::L3Routes => "cbr0".parse(),
        Backend::CalicoVxlan { .. } => "Calico".parse(),
    }
    .expect("a name")
}

/// `network.cniName`: that of flannel's own manifest.
#[expect(clippy::expect_used, reason = "a constant, covered by a test")]
pub fn cni_name() -> NetworkName {
    "cbr0".parse().expect("a name")
}

/// `hosts[].roles`: to run pods is what a host is mostly listed for.
pub fn roles() -> BTreeSet<Role> {
    BTreeSet::from([Role::Worker])
}

/// `hosts[].managed`: on an existing cluster, Linux hosts are somebody else's.
pub fn managed(os: OsFamily, existing: bool) -> bool {
    os == OsFamily::Windows || !existing
}

/// `hosts[].taints`: without it, Linux pods that name no operating system land
/// on Windows and fail there.
#[expect(clippy::expect_used, reason = "a constant, covered by a test")]
pub fn taints(os: OsFamily) -> Vec<Taint> {
    match os {
        OsFamily::Windows => vec!["os=windows:NoSchedule".parse().expect("a taint")],
        OsFamily::Linux => Vec::new(),
    }
}

/// `access.ssh.user`: the account that a fresh host has.
pub fn user(os: OsFamily) -> &'static str {
    match os {
        OsFamily::Windows => "Administrator",
        OsFamily::Linux => "root",
    }
}

/// `access.ssh.port`.
pub fn ssh_port() -> u16 {
    22
}

/// `access.ssh.key`: where ssh-keygen puts it.
pub fn ssh_key() -> SecretRef {
    SecretRef::File(Utf8PathBuf::from("~/.ssh/id_ed25519"))
}

/// `access.ssh.knownHosts`: where ssh keeps them.
pub fn known_hosts() -> Utf8PathBuf {
    Utf8PathBuf::from("~/.ssh/known_hosts")
}

/// `access.winrm.port`, as Windows has it.
pub fn winrm_port(transport: WinRmTransport) -> u16 {
    match transport {
        WinRmTransport::Https => 5986,
        WinRmTransport::Http => 5985,
    }
}

/// `machines.libvirt.network`.
pub fn machine_network() -> Cidr {
    Cidr::truncated(Ipv4Net::new_assert(Ipv4Addr::new(10, 0, 0, 0), 24))
}

/// `artifacts.lock`: beside the cluster file.
pub fn lock() -> Utf8PathBuf {
    Utf8PathBuf::from("./casement.lock")
}

/// `windows.baseDir`: what most guides use.
#[expect(clippy::expect_used, reason = "a constant, covered by a test")]
pub fn base_dir() -> WindowsPath {
    r"C:\k".parse().expect("a folder")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid_and_do_not_collide() {
        assert_eq!(pod_cidr().to_string(), "10.244.0.0/16");
        assert_eq!(service_cidr().to_string(), "10.96.0.0/12");
        assert!(!pod_cidr().overlaps(service_cidr()));
        assert_eq!(taints(OsFamily::Windows).len(), 1);
        assert_eq!(base_dir().as_str(), r"C:\k");
        assert_eq!(cluster_domain().as_str(), "cluster.local");
        assert_eq!((vni().get(), cni_name().as_str()), (4096, "cbr0"));
    }
}
