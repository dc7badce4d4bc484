//! Places on the network that may be given by name.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::Invalid;
use crate::name::label_fault;
use crate::text::{checked_text, line_fault};

/// The most that a DNS name holds.
const NAME_LENGTH: usize = 253;

checked_text! {
    /// A DNS name, such as `cluster.local`.
    pub struct DomainName("domain name", domain_fault, mend = domain_mended);
}

checked_text! {
    /// An IP address or a DNS name.
    pub struct HostAddress("address or name of a host", host_fault, mend = domain_mended);
}

checked_text! {
    /// An `http://` or `https://` address without account and password.
    pub struct Url("URL", url_fault);
}

/// The API server as nodes reach it: a host and a port.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// Address or name.
    pub host: HostAddress,
    /// The port; 6443 where none is written.
    pub port: u16,
}

fn domain_fault(text: &str) -> Option<String> {
    if text.len() > NAME_LENGTH {
        return Some(format!(
            "it has {} characters, {NAME_LENGTH} are allowed",
            text.len()
        ));
    }
    text.split('.').find_map(label_fault)
}

fn domain_mended(text: &str) -> String {
    text.trim_end_matches('.').to_ascii_lowercase()
}

fn host_fault(text: &str) -> Option<String> {
    if text.parse::<IpAddr>().is_ok() {
        return None;
    }
    // What looks like an address is none, rather than a name of digits.
    if text.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return Some("an IPv4 address has four numbers from 0 to 255".to_owned());
    }
    domain_fault(text)
}

fn url_fault(text: &str) -> Option<String> {
    let rest = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    let Some(rest) = rest else {
        return Some("it does not begin with `https://` or `http://`".to_owned());
    };
    if text.contains(char::is_whitespace) {
        return Some("it has a space in it".to_owned());
    }
    if let Some(fault) = line_fault(rest, 2000) {
        return Some(fault);
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Some("an account and its password do not belong into it".to_owned());
    }
    host_and_port(authority).is_none().then(|| {
        "what stands behind `://` is no host, or its port no number from 1 to 65535".to_owned()
    })
}

/// A host, and the port behind it if there is one.
fn host_and_port(text: &str) -> Option<(HostAddress, Option<u16>)> {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, "")) => (host, None),
        Some((host, port)) => (host, Some(port.strip_prefix(':')?)),
        // A bare IPv6 address has colons, and none of them begins a port.
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
        let reason = "it is not written as `api.shop.example:6443`";
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
    fn an_endpoint_has_a_host_and_perhaps_a_port() {
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
    fn a_url_holds_no_password() {
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
