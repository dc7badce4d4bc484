//! Hosts and their roles.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use serde::Serialize;

use crate::named::named;
use crate::text::{checked_text, line_error};
use crate::{
    Cidrs, HostAccess, HostName, HostOs, InterfaceName, LabelKey, LabelValue, Taint, WindowsPath,
};

named! {
    pub enum Role {
        ControlPlane = "control-plane",
        Worker = "worker",
        Etcd = "etcd",
        /// Load balancer, registry or DNS of the cluster.
        Services = "services",
    }
}

checked_text! {
    /// A kubelet flag without its leading dashes.
    pub struct FlagName("flag name", flag_error, suggest = suggest_flag);
}

checked_text! {
    pub struct FlagValue("flag value", value_error);
}

checked_text! {
    pub struct LinuxPath("Linux path", linux_path_error);
}

fn flag_error(text: &str) -> Option<&'static str> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if text.starts_with('-') {
        return Some("it must not start with dashes");
    }
    let good = (1..=100).contains(&text.len()) && text.chars().all(allowed);
    (!good).then_some("only lower-case letters, digits and `-` are allowed")
}

fn suggest_flag(text: &str) -> String {
    text.trim_start_matches('-').to_owned()
}

fn value_error(text: &str) -> Option<String> {
    if text.is_empty() {
        return None;
    }
    line_error(text, 4000)
}

fn linux_path_error(text: &str) -> Option<String> {
    if let Some(error) = line_error(text, 1000) {
        return Some(error);
    }
    let Some(rest) = text.strip_prefix('/') else {
        return Some("it must start with `/`".to_owned());
    };
    if rest.is_empty() {
        return Some("it must not be the root directory".to_owned());
    }
    let invalid = |part: &str| matches!(part, "" | "." | "..");
    rest.split('/')
        .any(invalid)
        .then(|| "it contains an empty component, `.` or `..`".to_owned())
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
pub enum HostFolder {
    Windows(WindowsPath),
    Linux(LinuxPath),
}

impl HostFolder {
    pub fn as_str(&self) -> &str {
        match self {
            Self::Windows(path) => path.as_str(),
            Self::Linux(path) => path.as_str(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Host {
    pub name: HostName,
    pub address: Ipv4Addr,
    pub os: HostOs,
    /// Never empty.
    pub roles: BTreeSet<Role>,
    /// Whether casement may change the host.
    pub managed: bool,
    /// `None`: the host keeps its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<HostName>,
    /// `None`: the interface of `network.interface`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<InterfaceName>,
    #[serde(skip_serializing_if = "HostAccess::is_empty")]
    pub access: HostAccess,
    /// In addition to the labels that Kubernetes sets.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<LabelKey, LabelValue>,
    /// These replace the default taints.
    pub taints: Vec<Taint>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_cidr: Option<Cidrs>,
    /// In addition to the flags that casement sets.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub kubelet_args: BTreeMap<FlagName, FlagValue>,
    /// `None`: the default state directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_dir: Option<HostFolder>,
}

impl Host {
    pub fn has(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flag_names_have_no_dashes() {
        let wrong = "--max-pods".parse::<FlagName>().unwrap_err();
        assert_eq!(wrong.suggestion.as_deref(), Some("max-pods"));
        assert!("maxPods".parse::<FlagName>().is_err());
        assert!("".parse::<FlagValue>().is_ok());
    }

    #[test]
    fn linux_path_is_absolute_and_below_the_root() {
        assert!("/var/lib/casement".parse::<LinuxPath>().is_ok());
        for bad in ["", "/", "var", "/a/../b", "/a//b", r"C:\k"] {
            assert!(bad.parse::<LinuxPath>().is_err(), "{bad}");
        }
    }
}
