//! Networks of pods and services.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

use ipnet::{IpNet, Ipv4Net};
use serde::Serialize;

use crate::Invalid;

/// An IPv4 network without host bits, such as 10.244.0.0/16.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Cidr(Ipv4Net);

impl Cidr {
    /// The same for arithmetic.
    pub fn net(self) -> Ipv4Net {
        self.0
    }

    /// Whether the address lies in it.
    pub fn contains(self, address: Ipv4Addr) -> bool {
        self.0.contains(&address)
    }

    /// Whether the two share an address: then one contains the other.
    pub fn overlaps(self, other: Self) -> bool {
        self.0.contains(&other.0) || other.0.contains(&self.0)
    }

    /// Host bits are cut off.
    pub fn truncated(net: Ipv4Net) -> Self {
        Self(net.trunc())
    }
}

impl FromStr for Cidr {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let wrong = |reason: &str| Invalid::new("IPv4 network", text, reason);
        match text.parse::<IpNet>() {
            Ok(IpNet::V4(net)) if net.trunc() == net => Ok(Self(net)),
            Ok(IpNet::V4(net)) => {
                Err(wrong("it has host bits").suggest(Some(net.trunc().to_string())))
            }
            Ok(IpNet::V6(_)) => Err(wrong("it is an IPv6 network")),
            Err(_) if text.parse::<IpAddr>().is_ok() => {
                Err(wrong("the prefix length is missing, such as /16"))
            }
            Err(_) => Err(wrong("it is not written as 10.244.0.0/16")),
        }
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_bits_are_refused_and_the_network_suggested() {
        let wrong = "10.244.1.7/16".parse::<Cidr>().unwrap_err();
        assert_eq!(wrong.suggestion.as_deref(), Some("10.244.0.0/16"));
        for bad in ["10.244.0.0", "fd00::/48", "10.244.0.0/33", "pods", ""] {
            assert!(bad.parse::<Cidr>().is_err(), "{bad}");
        }
    }

    #[test]
    fn networks_overlap_when_one_contains_the_other() {
        let net = |text: &str| text.parse::<Cidr>().unwrap();
        assert!(net("10.0.0.0/8").overlaps(net("10.96.0.0/12")));
        assert!(net("10.96.0.0/12").overlaps(net("10.0.0.0/8")));
        assert!(!net("10.244.0.0/16").overlaps(net("10.96.0.0/12")));
    }
}
