//! The addresses in the pod network of one node.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

/// The pod network of one node, with the addresses that L2Bridge networks reserve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PodNetwork(Ipv4Net);

/// No room for a gateway, a host and a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooSmall(pub Ipv4Net);

impl std::fmt::Display for TooSmall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "`{}` is too small for the pod network of a node; at least a /28 is required",
            self.0
        )
    }
}

impl std::error::Error for TooSmall {}

impl PodNetwork {
    pub fn new(network: Ipv4Net) -> Result<Self, TooSmall> {
        if network.prefix_len() <= 28 {
            Ok(Self(network.trunc()))
        } else {
            Err(TooSmall(network))
        }
    }

    pub fn net(self) -> Ipv4Net {
        self.0
    }

    /// The first address, used by HNS.
    pub fn gateway(self) -> Ipv4Addr {
        self.nth(1)
    }

    /// The second address, used by the host: the gateway of pods with `win-bridge`.
    pub fn host(self) -> Ipv4Addr {
        self.nth(2)
    }

    pub fn first_pod(self) -> Ipv4Addr {
        self.nth(3)
    }

    pub fn last_pod(self) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.0.broadcast()) - 1)
    }

    /// A /28 or larger has all of these, so the sum cannot overflow.
    fn nth(self, number: u32) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.0.network()) + number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_addresses_are_reserved() {
        let network = PodNetwork::new("10.244.3.0/24".parse().unwrap()).unwrap();
        assert_eq!(network.gateway(), Ipv4Addr::new(10, 244, 3, 1));
        assert_eq!(network.host(), Ipv4Addr::new(10, 244, 3, 2));
        assert_eq!(network.first_pod(), Ipv4Addr::new(10, 244, 3, 3));
        assert_eq!(network.last_pod(), Ipv4Addr::new(10, 244, 3, 254));
    }

    #[test]
    fn host_bits_are_ignored_and_small_networks_rejected() {
        let network = PodNetwork::new("255.255.255.255/28".parse().unwrap()).unwrap();
        assert_eq!(network.gateway(), Ipv4Addr::new(255, 255, 255, 241));
        assert!(PodNetwork::new("10.0.0.0/29".parse().unwrap()).is_err());
    }
}
