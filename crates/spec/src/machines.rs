//! Virtual machines that casement creates for hosts.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::named::named;
use crate::text::{checked_text, line_error};
use crate::{Cidr, HostAccess, HostAddress, HostName, Invalid, NetworkName, SecretRef};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Machines {
    Libvirt(Libvirt),
    HyperV(HyperV),
    Azure(Box<Azure>),
}

named! {
    pub enum MachineGroup {
        ControlPlane = "control-plane",
        LinuxWorker = "linux-worker",
        WindowsWorker = "windows-worker",
        Services = "services",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hypervisor {
    pub name: HostName,
    pub address: HostAddress,
    /// Hosts placed on this hypervisor; the others are distributed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostName>,
    #[serde(skip_serializing_if = "HostAccess::is_empty")]
    pub access: HostAccess,
}

/// An amount of memory or disk, written as `16Gi`.
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
        let reason = "expected a form like `16Gi`";
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

/// Unset values have the default of the machine group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineSize {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<ByteSize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<ByteSize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Libvirt {
    pub hypervisors: Vec<Hypervisor>,
    pub network: Cidr,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sizes: BTreeMap<MachineGroup, MachineSize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HyperV {
    pub hypervisors: Vec<Hypervisor>,
    pub switch: NetworkName,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sizes: BTreeMap<MachineGroup, MachineSize>,
}

checked_text! {
    pub struct AzureName("Azure name", azure_error);
}

fn azure_error(text: &str) -> Option<String> {
    if let Some(error) = line_error(text, 90) {
        return Some(error);
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.()".contains(c);
    let other = text.chars().find(|c| !allowed(*c))?;
    Some(format!("`{other}` is not allowed"))
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Azure {
    pub location: AzureName,
    pub subscription: AzureName,
    /// `None`: a group with the name of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_group: Option<AzureName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<AzureName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<AzureName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<SecretRef>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sizes: BTreeMap<MachineGroup, AzureName>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_need_a_unit() {
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
