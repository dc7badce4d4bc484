//! The hosts, and what they are for.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use serde::Serialize;

use crate::named::named;
use crate::text::{checked_text, line_fault};
use crate::{
    Cidrs, HostAccess, HostName, HostOs, InterfaceName, LabelKey, LabelValue, Taint, WindowsPath,
};

named! {
    /// What a host does in the cluster.
    pub enum Role {
        /// Runs the API server and its company.
        ControlPlane = "control-plane",
        /// Runs pods.
        Worker = "worker",
        /// Keeps the cluster's state.
        Etcd = "etcd",
        /// Serves what the cluster leans on: load balancer, registry, DNS.
        Services = "services",
    }
}

checked_text! {
    /// The name of a flag of the kubelet, without the dashes before it.
    pub struct FlagName("name of a flag", flag_fault, mend = flag_mended);
}

checked_text! {
    /// The value of a flag; one line.
    pub struct FlagValue("value of a flag", value_fault);
}

checked_text! {
    /// An absolute path of a folder on a Linux host.
    pub struct LinuxPath("folder on Linux", linux_path_fault);
}

fn flag_fault(text: &str) -> Option<&'static str> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if text.starts_with('-') {
        return Some("it is written without the dashes before it");
    }
    let good = (1..=100).contains(&text.len()) && text.chars().all(allowed);
    (!good).then_some("it is in lower-case letters, digits and `-`")
}

fn flag_mended(text: &str) -> String {
    text.trim_start_matches('-').to_owned()
}

fn value_fault(text: &str) -> Option<String> {
    if text.is_empty() {
        return None;
    }
    line_fault(text, 4000)
}

fn linux_path_fault(text: &str) -> Option<String> {
    if let Some(fault) = line_fault(text, 1000) {
        return Some(fault);
    }
    let Some(rest) = text.strip_prefix('/') else {
        return Some("it does not begin with `/`".to_owned());
    };
    if rest.is_empty() {
        return Some("the root folder cannot be taken".to_owned());
    }
    let odd = |part: &str| matches!(part, "" | "." | "..");
    rest.split('/')
        .any(odd)
        .then(|| "a part of it is empty, `.` or `..`".to_owned())
}

/// A folder on a host, in the host's own way of writing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
pub enum HostFolder {
    /// On Windows.
    Windows(WindowsPath),
    /// On Linux.
    Linux(LinuxPath),
}

impl HostFolder {
    /// As written.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Windows(path) => path.as_str(),
            Self::Linux(path) => path.as_str(),
        }
    }
}

/// One host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Host {
    /// Its name, and the name of its Node.
    pub name: HostName,
    /// Where it is reached, and where its Node is.
    pub address: Ipv4Addr,
    /// What it runs.
    pub os: HostOs,
    /// What it does; never empty.
    pub roles: BTreeSet<Role>,
    /// Whether casement may change it.
    pub managed: bool,
    /// What the machine calls itself; `None` where its own name is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<HostName>,
    /// The interface that carries pods, where that differs from the cluster's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<InterfaceName>,
    /// How it is reached, where that differs from the cluster's `access`.
    #[serde(skip_serializing_if = "HostAccess::is_empty")]
    pub access: HostAccess,
    /// Labels of its Node, beside those that Kubernetes sets.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<LabelKey, LabelValue>,
    /// All taints of its Node; given ones replace the default.
    pub taints: Vec<Taint>,
    /// Its pods' network, where the file gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_cidr: Option<Cidrs>,
    /// Flags of its kubelet, beside those that casement sets.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub kubelet_args: BTreeMap<FlagName, FlagValue>,
    /// Where casement keeps its state there; `None` for its usual place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_dir: Option<HostFolder>,
}

impl Host {
    /// Whether it has the role.
    pub fn has(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_named_without_dashes() {
        let wrong = "--max-pods".parse::<FlagName>().unwrap_err();
        assert_eq!(wrong.suggestion.as_deref(), Some("max-pods"));
        assert!("maxPods".parse::<FlagName>().is_err());
        assert!("".parse::<FlagValue>().is_ok());
    }

    #[test]
    fn a_linux_folder_is_absolute_and_below_the_root() {
        assert!("/var/lib/casement".parse::<LinuxPath>().is_ok());
        for bad in ["", "/", "var", "/a/../b", "/a//b", r"C:\k"] {
            assert!(bad.parse::<LinuxPath>().is_err(), "{bad}");
        }
    }
}
