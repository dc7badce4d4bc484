//! `sysctl`: one running value of the kernel.
//!
//! What a boot sets it to is a file below `/etc/sysctl.d`, and a step of its own.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Change, Diff, HostPath, PathError};

/// The name of a kernel value, as sysctl.d(5) writes it: parts with dots
/// between, and `/` for a dot within a part (`net.ipv4.conf.eth0/7.forwarding`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SysctlName(String);

impl SysctlName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its place below `/proc/sys`; never climbs out of it.
    #[must_use]
    pub fn place(&self) -> String {
        let turned = |character| match character {
            '.' => '/',
            '/' => '.',
            other => other,
        };
        self.0.chars().map(turned).collect()
    }
}

impl TryFrom<String> for SysctlName {
    type Error = PathError;
    fn try_from(text: String) -> Result<Self, PathError> {
        let name = Self(text);
        format!("/proc/sys/{}", name.place()).parse::<HostPath>()?;
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
    /// Which.
    pub name: SysctlName,
    /// Its value; numbers in a row have spaces between.
    pub value: String,
}

/// The value as found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SysctlFacts {
    /// As the kernel writes it; none if it has no such value.
    pub value: Option<String>,
}

impl Sysctl {
    /// What is to change.
    #[must_use]
    pub fn diff(&self, facts: &SysctlFacts) -> Diff {
        match &facts.value {
            None => Diff::Changes(vec![Change::missing("value", &self.value)]),
            Some(found) if same(found, &self.value) => Diff::right(format!("already `{found}`")),
            Some(found) => Diff::Changes(vec![Change::field("value", found, &self.value)]),
        }
    }
}

/// The kernel puts tabs where people put spaces.
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
    fn tabs_are_spaces() {
        let wanted = sysctl("net.ipv4.ip_local_port_range", "1024 65000");
        let found = |value: &str| SysctlFacts {
            value: Some(value.to_owned()),
        };
        assert_eq!(
            wanted.diff(&found("1024\t65000")),
            Diff::right("already `1024\t65000`")
        );
        assert!(!wanted.diff(&found("1024\t6500")).is_right());
        assert!(!wanted.diff(&SysctlFacts { value: None }).is_right());
    }

    #[test]
    fn a_name_has_its_place_and_no_way_out() {
        let place = |name: &str| name.parse::<SysctlName>().map(|name| name.place());
        assert_eq!(place("net.ipv4.ip_forward").unwrap(), "net/ipv4/ip_forward");
        assert_eq!(
            place("net.ipv4.conf.eth0/7.forwarding").unwrap(),
            "net/ipv4/conf/eth0.7/forwarding"
        );
        for wrong in ["", "net..x", ".net", "//.//.etc", "a\nb"] {
            assert!(place(wrong).is_err(), "{wrong}");
        }
    }
}
