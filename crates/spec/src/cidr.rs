//! Pod and service networks.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};

use crate::Invalid;

/// An IPv4 network without host bits, such as 10.244.0.0/16.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Cidr(Ipv4Net);

/// An IPv6 network without host bits, such as fd00:244::/56.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Cidr6(Ipv6Net);

impl Cidr {
    pub fn net(self) -> Ipv4Net {
        self.0
    }

    pub fn contains(self, address: Ipv4Addr) -> bool {
        self.0.contains(&address)
    }

    pub fn overlaps(self, other: Self) -> bool {
        self.0.contains(&other.0) || other.0.contains(&self.0)
    }

    pub fn truncated(net: Ipv4Net) -> Self {
        Self(net.trunc())
    }
}

impl Cidr6 {
    pub fn net(self) -> Ipv6Net {
        self.0
    }

    pub fn overlaps(self, other: Self) -> bool {
        self.0.contains(&other.0) || other.0.contains(&self.0)
    }
}

impl FromStr for Cidr {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match network("IPv4 network", text, "10.244.0.0/16")? {
            IpNet::V4(net) => Ok(Self(net)),
            IpNet::V6(_) => Err(Invalid::new("IPv4 network", text, "it is an IPv6 network")),
        }
    }
}

impl FromStr for Cidr6 {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match network("IPv6 network", text, "fd00:244::/56")? {
            IpNet::V6(net) => Ok(Self(net)),
            IpNet::V4(_) => Err(Invalid::new("IPv6 network", text, "it is an IPv4 network")),
        }
    }
}

fn network(kind: &'static str, text: &str, example: &str) -> Result<IpNet, Invalid> {
    let wrong = |reason: String| Invalid::new(kind, text, reason);
    match text.parse::<IpNet>() {
        Ok(net) if net.trunc() == net => Ok(net),
        Ok(net) => {
            let suggestion = Some(net.trunc().to_string());
            Err(wrong("it has host bits set".to_owned()).suggest(suggestion))
        }
        Err(_) if text.parse::<IpAddr>().is_ok() => Err(wrong(
            "the prefix length is missing, for example /16".to_owned(),
        )),
        Err(_) => Err(wrong(format!("expected a form like {example}"))),
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Cidr6 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An IPv4 network, plus an IPv6 network for dual stack.
///
/// IPv6 alone is not possible: Windows nodes need IPv4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cidrs {
    v4: Cidr,
    v6: Option<Cidr6>,
    v6_first: bool,
}

impl Cidrs {
    /// The first family is the default of pods and services.
    pub fn dual_stack(v4: Cidr, v6: Cidr6, v6_first: bool) -> Self {
        Self {
            v4,
            v6: Some(v6),
            v6_first,
        }
    }

    pub fn v4(self) -> Cidr {
        self.v4
    }

    pub fn v6(self) -> Option<Cidr6> {
        self.v6
    }

    pub fn net(self) -> Ipv4Net {
        self.v4.net()
    }

    pub fn iter(self) -> impl Iterator<Item = IpNet> {
        let v6 = self.v6.map(|v6| IpNet::V6(v6.net()));
        let first = v6.filter(|_| self.v6_first);
        let last = v6.filter(|_| !self.v6_first);
        let v4 = IpNet::V4(self.v4.net());
        first.into_iter().chain([v4]).chain(last)
    }

    pub fn overlaps(self, other: Self) -> bool {
        let v6 = match (self.v6, other.v6) {
            (Some(one), Some(other)) => one.overlaps(other),
            _ => false,
        };
        v6 || self.v4.overlaps(other.v4)
    }
}

impl From<Cidr> for Cidrs {
    fn from(v4: Cidr) -> Self {
        Self {
            v4,
            v6: None,
            v6_first: false,
        }
    }
}

/// Comma-separated, as in Kubernetes flags.
impl fmt::Display for Cidrs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, net) in self.iter().enumerate() {
            write!(f, "{}{net}", if at == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl Serialize for Cidrs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.v6.is_none() {
            return self.v4.serialize(serializer);
        }
        let mut list = serializer.serialize_seq(Some(2))?;
        for net in self.iter() {
            list.serialize_element(&net)?;
        }
        list.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_bits_are_rejected_and_the_network_is_suggested() {
        let wrong = "10.244.1.7/16".parse::<Cidr>().unwrap_err();
        assert_eq!(wrong.suggestion.as_deref(), Some("10.244.0.0/16"));
        for bad in ["10.244.0.0", "fd00::/48", "10.244.0.0/33", "pods", ""] {
            assert!(bad.parse::<Cidr>().is_err(), "{bad}");
        }
        let wrong = "fd00:244::1/56".parse::<Cidr6>().unwrap_err();
        assert_eq!(wrong.suggestion.as_deref(), Some("fd00:244::/56"));
        assert!("10.244.0.0/16".parse::<Cidr6>().is_err());
    }

    #[test]
    fn networks_overlap_if_one_contains_the_other() {
        let net = |text: &str| text.parse::<Cidr>().unwrap();
        assert!(net("10.0.0.0/8").overlaps(net("10.96.0.0/12")));
        assert!(net("10.96.0.0/12").overlaps(net("10.0.0.0/8")));
        assert!(!net("10.244.0.0/16").overlaps(net("10.96.0.0/12")));
    }

    #[test]
    fn dual_stack_keeps_its_order() {
        let v4: Cidr = "10.244.0.0/16".parse().unwrap();
        let v6: Cidr6 = "fd00:244::/56".parse().unwrap();
        let networks = Cidrs::dual_stack(v4, v6, true);
        assert_eq!(networks.to_string(), "fd00:244::/56,10.244.0.0/16");
        assert_eq!(Cidrs::from(v4).to_string(), "10.244.0.0/16");
        let services = Cidrs::dual_stack("10.96.0.0/12".parse().unwrap(), v6, false);
        assert!(networks.overlaps(services));
    }
}
