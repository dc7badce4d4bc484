//! Machines that are made before they are hosts.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::named::named;
use crate::text::{checked_text, line_fault};
use crate::{Cidr, HostAccess, HostAddress, HostName, Invalid, NetworkName, SecretRef};

/// Where the hosts' machines are made; one place for all of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Machines {
    /// On Linux hypervisors with libvirt.
    Libvirt(Libvirt),
    /// On Windows hypervisors with Hyper-V.
    HyperV(HyperV),
    /// In an Azure account.
    Azure(Box<Azure>),
}

named! {
    /// Hosts that get machines of one size.
    pub enum MachineGroup {
        /// Control-plane hosts, and those of etcd.
        ControlPlane = "control-plane",
        /// Linux workers.
        LinuxWorker = "linux-worker",
        /// Windows workers.
        WindowsWorker = "windows-worker",
        /// Hosts that serve the cluster.
        Services = "services",
    }
}

/// A machine that machines run on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hypervisor {
    /// Its name, for messages.
    pub name: HostName,
    /// Where it is reached.
    pub address: HostAddress,
    /// The hosts that are placed on it; the rest is spread.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostName>,
    /// How it is reached, where that differs from the cluster's `access`.
    #[serde(skip_serializing_if = "HostAccess::is_empty")]
    pub access: HostAccess,
}

/// An amount of memory or disk, in bytes; written as `16Gi`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSize(u64);

impl ByteSize {
    const UNITS: [(&'static str, u64); 4] = [
        ("Ti", 1 << 40),
        ("Gi", 1 << 30),
        ("Mi", 1 << 20),
        ("Ki", 1 << 10),
    ];

    fn of(text: &str) -> Option<Self> {
        Self::UNITS.iter().find_map(|(unit, bytes)| {
            let number = text.strip_suffix(unit)?.parse::<u64>().ok()?;
            number
                .checked_mul(*bytes)
                .filter(|bytes| *bytes > 0)
                .map(Self)
        })
    }

    /// The number of bytes.
    pub fn bytes(self) -> u64 {
        self.0
    }
}

impl FromStr for ByteSize {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if let Some(size) = Self::of(text) {
            return Ok(size);
        }
        let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
        let unit = text.get(number.len()..).unwrap_or_default().trim();
        let letter = unit.chars().next().map(|c| c.to_ascii_uppercase());
        let better = letter.filter(|c| "TGMK".contains(*c));
        let better = better.map(|letter| format!("{number}{letter}i"));
        let better = better.filter(|text| Self::of(text).is_some());
        let reason = "it is not written as `16Gi`";
        Err(Invalid::new("size", text, reason).suggest(better))
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = Self::UNITS
            .iter()
            .find(|(_, bytes)| self.0.is_multiple_of(*bytes));
        match whole {
            Some((unit, bytes)) => write!(f, "{}{unit}", self.0 / bytes),
            None => self.0.fmt(f),
        }
    }
}

impl Serialize for ByteSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// How large a machine is; what is not said has its group's default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineSize {
    /// Virtual processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u16>,
    /// Memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<ByteSize>,
    /// The disk of the system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<ByteSize>,
}

/// Machines on Linux hypervisors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Libvirt {
    /// The hypervisors; never empty.
    pub hypervisors: Vec<Hypervisor>,
    /// The network that the machines are in.
    pub network: Cidr,
    /// How large they are.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sizes: BTreeMap<MachineGroup, MachineSize>,
}

/// Machines on Windows hypervisors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HyperV {
    /// The hypervisors; never empty.
    pub hypervisors: Vec<Hypervisor>,
    /// The virtual switch that the machines are plugged into.
    pub switch: NetworkName,
    /// How large they are.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sizes: BTreeMap<MachineGroup, MachineSize>,
}

checked_text! {
    /// A name that Azure gave, or takes: of a region, a group, a size.
    pub struct AzureName("name in Azure", azure_fault);
}

fn azure_fault(text: &str) -> Option<String> {
    if let Some(fault) = line_fault(text, 90) {
        return Some(fault);
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.()".contains(c);
    let other = text.chars().find(|c| !allowed(*c))?;
    Some(format!("`{other}` is not allowed in it"))
}

/// Machines in an Azure account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Azure {
    /// The region.
    pub location: AzureName,
    /// The subscription that pays.
    pub subscription: AzureName,
    /// The group that all of it is in; `None` for one called as the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_group: Option<AzureName>,
    /// The tenant of the service principal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<AzureName>,
    /// The service principal's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<AzureName>,
    /// The service principal's secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<SecretRef>,
    /// Sizes of machines as Azure calls them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sizes: BTreeMap<MachineGroup, AzureName>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_a_unit() {
        for text in ["16Gi", "512Mi", "1Ti"] {
            assert_eq!(text.parse::<ByteSize>().unwrap().to_string(), text);
        }
        assert_eq!("1024Mi".parse::<ByteSize>().unwrap().to_string(), "1Gi");
        for (bad, better) in [
            ("16G", Some("16Gi")),
            ("16 GB", Some("16Gi")),
            ("8388608", None),
            ("0Gi", None),
            ("99999999999999Ti", None),
            ("", None),
        ] {
            let wrong = bad.parse::<ByteSize>().unwrap_err();
            assert_eq!(wrong.suggestion.as_deref(), better, "{bad}");
        }
    }
}
