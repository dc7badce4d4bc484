//! Every default, in one place.
//!
//! A field that is not here has to be given: `metadata.name`,
//! `kubernetes.version`, `network.mode`, and of each host `name`, `address` and
//! `os`, because no guess at them would be safe.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use camino::Utf8PathBuf;
use ipnet::Ipv4Net;

use crate::{Cidr, OsFamily, Role, SecretRef, Taint, WindowsPath};

/// `kubernetes.podCidr`: flannel's own default.
pub fn pod_cidr() -> Cidr {
    Cidr::truncated(Ipv4Net::new_assert(Ipv4Addr::new(10, 244, 0, 0), 16))
}

/// `kubernetes.serviceCidr`: kubeadm's own default.
pub fn service_cidr() -> Cidr {
    Cidr::truncated(Ipv4Net::new_assert(Ipv4Addr::new(10, 96, 0, 0), 12))
}

/// `hosts[].roles`: to run pods is what a host is mostly listed for.
pub fn roles() -> BTreeSet<Role> {
    BTreeSet::from([Role::Worker])
}

/// `hosts[].managed`: on an existing cluster, Linux hosts are somebody else's.
pub fn managed(os: OsFamily) -> bool {
    os == OsFamily::Windows
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
    }
}
