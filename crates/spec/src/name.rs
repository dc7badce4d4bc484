//! Names of hosts and clusters.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::Invalid;

/// The most that a DNS label holds.
const LABEL_LENGTH: usize = 63;
/// The most that a NetBIOS name holds; Windows cuts a computer name there.
const NETBIOS_LENGTH: usize = 15;

/// The name of a host and of its Node: an RFC 1123 label.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct HostName(String);

impl HostName {
    /// As written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name that old Windows protocols see: its first 15 characters.
    pub fn netbios(&self) -> &str {
        self.0.get(..NETBIOS_LENGTH).unwrap_or(&self.0)
    }

    /// Whether Windows cuts the name, so that the host has two.
    pub fn is_cut_by_netbios(&self) -> bool {
        self.netbios().len() < self.0.len()
    }
}

/// The name of a cluster: an RFC 1123 label.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ClusterName(String);

impl ClusterName {
    /// As written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for HostName {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        label("host name", text).map(Self)
    }
}

impl FromStr for ClusterName {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        label("cluster name", text).map(Self)
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for ClusterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn label(kind: &'static str, text: &str) -> Result<String, Invalid> {
    let Some(reason) = label_fault(text) else {
        return Ok(text.to_owned());
    };
    let mended = text.to_ascii_lowercase().replace(['_', '.', ' '], "-");
    let mended = mended.trim_matches('-').to_owned();
    let suggestion = label_fault(&mended).is_none().then_some(mended);
    Err(Invalid::new(kind, text, reason).suggest(suggestion))
}

/// Why a text is no RFC 1123 label, if so.
pub(crate) fn label_fault(text: &str) -> Option<String> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if text.is_empty() {
        return Some("it is empty".to_owned());
    }
    if let Some(other) = text.chars().find(|c| !allowed(*c)) {
        return Some(format!(
            "{} is not allowed, only lower-case letters, digits and `-` are",
            shown(other)
        ));
    }
    if text.starts_with('-') || text.ends_with('-') {
        return Some("it begins or ends with `-`".to_owned());
    }
    if text.len() > LABEL_LENGTH {
        let length = text.len();
        return Some(format!(
            "it has {length} characters, {LABEL_LENGTH} are allowed"
        ));
    }
    None
}

/// A character in a message.
pub(crate) fn shown(character: char) -> String {
    match character {
        ' ' => "a space".to_owned(),
        c if c.is_control() => format!("the character {}", c.escape_default()),
        c => format!("`{c}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_dns_labels_are_host_names() {
        for good in ["a", "win1", "3com", "web-01", &"a".repeat(63)] {
            assert!(good.parse::<HostName>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "-a",
            "a-",
            "A",
            "a.b",
            "a_b",
            "ä",
            "a b",
            &"a".repeat(64),
        ] {
            assert!(bad.parse::<HostName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_name_that_windows_would_write_is_mended() {
        let wrong = "WIN_3F9K2".parse::<HostName>().unwrap_err();
        assert_eq!(wrong.suggestion.as_deref(), Some("win-3f9k2"));
        assert!("ä".parse::<HostName>().unwrap_err().suggestion.is_none());
    }

    #[test]
    fn netbios_keeps_fifteen_characters() {
        let name: HostName = "windows-node-pool-a".parse().unwrap();
        assert_eq!(name.netbios(), "windows-node-po");
        assert!(name.is_cut_by_netbios());
        let name: HostName = "windows-node-01".parse().unwrap();
        assert!(!name.is_cut_by_netbios());
    }
}
