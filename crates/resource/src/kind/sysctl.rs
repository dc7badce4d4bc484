//! `sysctl`: a running kernel parameter.
//!
//! The value after a boot is a file in `/etc/sysctl.d`, and a separate step.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Change, Diff, HostPath, PathError};

/// A parameter name in sysctl.d(5) format: components separated by dots, and `/` for a
/// dot within a component (`net.ipv4.conf.eth0/7.forwarding`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SysctlName(String);

impl SysctlName {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path relative to `/proc/sys`; never leaves it.
    #[must_use]
    pub fn proc_path(&self) -> String {
        let swap = |character| match character {
            '.' => '/',
            '/' => '.',
            other => other,
        };
        self.0.chars().map(swap).collect()
    }
}

impl TryFrom<String> for SysctlName {
    type Error = PathError;
    fn try_from(text: String) -> Result<Self, PathError> {
        let name = Self(text);
        format!("/proc/sys/{}", name.proc_path()).parse::<HostPath>()?;
        Ok(name)
    }
}

impl FromStr for SysctlName {
    type Err = PathError;
    fn from_str(text: &str) -> Result<Self, PathError> {
        Self::try_from(text.to_owned())
    }
}

impl From<SysctlName> for String {
    fn from(name: SysctlName) -> Self {
        name.0
    }
}

impl fmt::Display for SysctlName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A value that the running kernel should have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Sysctl {
    pub name: SysctlName,
    /// Multiple numbers are separated by spaces.
    pub value: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SysctlFacts {
    /// In the kernel's format; none if the parameter does not exist.
    pub value: Option<String>,
}

impl Sysctl {
    #[must_use]
    pub fn diff(&self, facts: &SysctlFacts) -> Diff {
        match &facts.value {
            None => Diff::Changes(vec![Change::missing("value", &self.value)]),
            Some(found) if same(found, &self.value) => {
                Diff::unchanged(format!("already `{found}`"))
            }
            Some(found) => Diff::Changes(vec![Change::field("value", found, &self.value)]),
        }
    }
}

/// The kernel separates with tabs.
fn same(one: &str, other: &str) -> bool {
    one.split_whitespace().eq(other.split_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sysctl(name: &str, value: &str) -> Sysctl {
        Sysctl {
            name: name.parse().unwrap(),
            value: value.to_owned(),
        }
    }

    #[test]
    fn tabs_equal_spaces() {
        let wanted = sysctl("net.ipv4.ip_local_port_range", "1024 65000");
        let found = |value: &str| SysctlFacts {
            value: Some(value.to_owned()),
        };
        assert_eq!(
            wanted.diff(&found("1024\t65000")),
            Diff::unchanged("already `1024\t65000`")
        );
        assert!(!wanted.diff(&found("1024\t6500")).in_sync());
        assert!(!wanted.diff(&SysctlFacts { value: None }).in_sync());
    }

    #[test]
    fn a_name_maps_to_a_path_and_cannot_escape() {
        let path = |name: &str| name.parse::<SysctlName>().map(|name| name.proc_path());
        assert_eq!(path("net.ipv4.ip_forward").unwrap(), "net/ipv4/ip_forward");
        assert_eq!(
            path("net.ipv4.conf.eth0/7.forwarding").unwrap(),
            "net/ipv4/conf/eth0.7/forwarding"
        );
        for wrong in ["", "net..x", ".net", "//.//.etc", "a\nb"] {
            assert!(path(wrong).is_err(), "{wrong}");
        }
    }
}
