//! Image registries.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::Invalid;

/// The registry part of an image reference: `host`, `host:port`, either with a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Registry(String);

impl Registry {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn host(&self) -> &str {
        self.0.split_once('/').map_or(&self.0, |(host, _)| host)
    }
}

impl FromStr for Registry {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if let Some(reason) = validate(text) {
            let bare = text
                .trim_start_matches("https://")
                .trim_start_matches("http://")
                .trim_end_matches('/');
            let suggestion = (bare != text && validate(bare).is_none()).then(|| bare.to_owned());
            return Err(Invalid::new("registry", text, reason).suggest(suggestion));
        }
        Ok(Self(text.to_owned()))
    }
}

fn validate(text: &str) -> Option<&'static str> {
    if text.contains("://") {
        return Some("it must not have a scheme");
    }
    let (host, path) = match text.split_once('/') {
        Some((host, path)) => (host, Some(path)),
        None => (text, None),
    };
    let (name, port) = match host.split_once(':') {
        Some((name, port)) => (name, Some(port)),
        None => (host, None),
    };
    let word = |text: &str, more: &str| {
        !text.is_empty()
            && text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || more.contains(c))
    };
    if !word(name, "-.") {
        return Some("it must start with a host");
    }
    let usable = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    if port.is_some_and(|port| !usable(port)) {
        return Some("the port is not between 1 and 65535");
    }
    let parts = path.into_iter().flat_map(|path| path.split('/'));
    let mut parts = parts.map(|part| word(part, "-._") && part == part.to_ascii_lowercase());
    if !parts.all(|good| good) {
        return Some("only lower-case letters, digits, `-`, `_` and `.` are allowed in the path");
    }
    None
}

impl fmt::Display for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registry_is_a_host_with_optional_port_and_path() {
        for good in ["mcr.microsoft.com", "198.18.0.10:5000", "r.example/a/b_c"] {
            assert!(good.parse::<Registry>().is_ok(), "{good}");
        }
        for bad in [
            "", "a b", ":5000", "a:0", "a:x", "a/", "a//b", "a/B", "a:1:2",
        ] {
            assert!(bad.parse::<Registry>().is_err(), "{bad}");
        }
        let with_path: Registry = "r.example:5000/a/b".parse().unwrap();
        assert_eq!(with_path.host(), "r.example:5000");
    }

    #[test]
    fn scheme_is_rejected_and_the_rest_is_suggested() {
        let wrong = "https://198.18.0.10:5000/".parse::<Registry>().unwrap_err();
        assert_eq!(wrong.suggestion.as_deref(), Some("198.18.0.10:5000"));
    }
}
