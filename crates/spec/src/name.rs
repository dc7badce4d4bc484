//! Host and cluster names.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::Invalid;

const LABEL_LENGTH: usize = 63;
/// Windows truncates computer names to the NetBIOS limit.
const NETBIOS_LENGTH: usize = 15;

/// The name of a host and its Node: an RFC 1123 label.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct HostName(String);

impl HostName {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name in old Windows protocols: the first 15 characters.
    pub fn netbios(&self) -> &str {
        self.0.get(..NETBIOS_LENGTH).unwrap_or(&self.0)
    }

    /// Whether the host has two different names on Windows.
    pub fn is_cut_by_netbios(&self) -> bool {
        self.netbios().len() < self.0.len()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ClusterName(String);

impl ClusterName {
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
    let Some(reason) = label_error(text) else {
        return Ok(text.to_owned());
    };
    let corrected = text.to_ascii_lowercase().replace(['_', '.', ' '], "-");
    let corrected = corrected.trim_matches('-').to_owned();
    let suggestion = label_error(&corrected).is_none().then_some(corrected);
    Err(Invalid::new(kind, text, reason).suggest(suggestion))
}

pub(crate) fn label_error(text: &str) -> Option<String> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if text.is_empty() {
        return Some("it is empty".to_owned());
    }
    if let Some(other) = text.chars().find(|c| !allowed(*c)) {
        return Some(format!(
            "{} is not allowed, only lower-case letters, digits and `-`",
            shown(other)
        ));
    }
    if text.starts_with('-') || text.ends_with('-') {
        return Some("it must not start or end with `-`".to_owned());
    }
    if text.len() > LABEL_LENGTH {
        let length = text.len();
        return Some(format!(
            "it has {length} characters, the limit is {LABEL_LENGTH}"
        ));
    }
    None
}

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
    fn host_names_are_dns_labels() {
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
    fn lower_case_is_suggested_for_windows_names() {
        let wrong = "WIN_3F9K2".parse::<HostName>().unwrap_err();
        assert_eq!(wrong.suggestion.as_deref(), Some("win-3f9k2"));
        assert!("ä".parse::<HostName>().unwrap_err().suggestion.is_none());
    }

    #[test]
    fn netbios_name_has_fifteen_characters() {
        let name: HostName = "windows-node-pool-a".parse().unwrap();
        assert_eq!(name.netbios(), "windows-node-po");
        assert!(name.is_cut_by_netbios());
        let name: HostName = "windows-node-01".parse().unwrap();
        assert!(!name.is_cut_by_netbios());
    }
}
