//! Network addresses: domain names, hosts, URLs and endpoints.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::Invalid;
use crate::name::label_error;
use crate::text::{checked_text, line_error};

const NAME_LENGTH: usize = 253;

checked_text! {
    pub struct DomainName("domain name", domain_error, suggest = suggest_domain);
}

checked_text! {
    /// An IP address or a DNS name.
    pub struct HostAddress("host address", host_error, suggest = suggest_domain);
}

checked_text! {
    /// An `http://` or `https://` URL without credentials.
    pub struct Url("URL", url_error);
}

/// The API server address that nodes use.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    pub host: HostAddress,
    pub port: u16,
}

fn domain_error(text: &str) -> Option<String> {
    if text.len() > NAME_LENGTH {
        return Some(format!(
            "it has {} characters, the limit is {NAME_LENGTH}",
            text.len()
        ));
    }
    text.split('.').find_map(label_error)
}

fn suggest_domain(text: &str) -> String {
    text.trim_end_matches('.').to_ascii_lowercase()
}

fn host_error(text: &str) -> Option<String> {
    if text.parse::<IpAddr>().is_ok() {
        return None;
    }
    // Treat it as a malformed address rather than a name made of digits.
    if text.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return Some("an IPv4 address has four numbers between 0 and 255".to_owned());
    }
    domain_error(text)
}

fn url_error(text: &str) -> Option<String> {
    let rest = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    let Some(rest) = rest else {
        return Some("it must start with `https://` or `http://`".to_owned());
    };
    if text.contains(char::is_whitespace) {
        return Some("it contains a space".to_owned());
    }
    if let Some(error) = line_error(rest, 2000) {
        return Some(error);
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Some("it must not contain credentials".to_owned());
    }
    host_and_port(authority).is_none().then(|| {
        "the part after `://` is not a valid host, or its port is not between 1 and 65535"
            .to_owned()
    })
}

fn host_and_port(text: &str) -> Option<(HostAddress, Option<u16>)> {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, "")) => (host, None),
        Some((host, port)) => (host, Some(port.strip_prefix(':')?)),
        // The colons of a bare IPv6 address do not start a port.
        None if text.parse::<IpAddr>().is_ok() => (text, None),
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let port = match port {
        Some(port) => Some(port.parse::<u16>().ok().filter(|port| *port > 0)?),
        None => None,
    };
    Some((host.parse().ok()?, port))
}

impl FromStr for Endpoint {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if let Some((host, port)) = host_and_port(text) {
            let port = port.unwrap_or(crate::defaults::API_PORT);
            return Ok(Self { host, port });
        }
        let bare = text.split_once("://").map_or(text, |(_, rest)| rest);
        let bare = bare.trim_end_matches('/');
        let suggestion = (bare != text && host_and_port(bare).is_some()).then(|| bare.to_owned());
        let reason = "expected a form like `api.shop.example:6443`";
        Err(Invalid::new("endpoint", text, reason).suggest(suggestion))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.as_str().contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl Serialize for Endpoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoint_has_a_host_and_an_optional_port() {
        for (text, full) in [
            ("10.3.0.1", "10.3.0.1:6443"),
            ("api.shop.example:443", "api.shop.example:443"),
            ("fd00::1", "[fd00::1]:6443"),
            ("[fd00::1]:443", "[fd00::1]:443"),
        ] {
            assert_eq!(text.parse::<Endpoint>().unwrap().to_string(), full);
        }
        for bad in ["", ":6443", "a:0", "a:b", "10.3.0:1", "10.3.0.256", "a b"] {
            assert!(bad.parse::<Endpoint>().is_err(), "{bad}");
        }
        let wrong = "https://10.3.0.1:6443/".parse::<Endpoint>().unwrap_err();
        assert_eq!(wrong.suggestion.as_deref(), Some("10.3.0.1:6443"));
    }

    #[test]
    fn url_with_credentials_is_rejected() {
        for good in ["https://mirror.example/k8s", "http://10.3.0.9:3128"] {
            assert!(good.parse::<Url>().is_ok(), "{good}");
        }
        for bad in [
            "mirror.example",
            "https://me:pw@proxy",
            "https://",
            "ftp://a",
        ] {
            assert!(bad.parse::<Url>().is_err(), "{bad}");
        }
    }
}
