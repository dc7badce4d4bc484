//! Assigns a pod network to each node.

use std::collections::BTreeSet;
use std::ops::Bound::{Included, Unbounded};

use ipnet::Ipv4Net;

/// The default of kube-controller-manager.
pub const NODE_PREFIX: u8 = 24;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error("the pod network `{pods}` is smaller than the /{node_prefix} of a node")]
    Prefix { pods: Ipv4Net, node_prefix: u8 },
    #[error(
        "the pod network `{pods}` has room for {parts} nodes (/{node_prefix} each), but there are {nodes}"
    )]
    Full {
        pods: Ipv4Net,
        node_prefix: u8,
        parts: u64,
        nodes: usize,
    },
}

/// The pod networks of all nodes, in their order. Given networks stay; each other
/// node gets the first free one.
///
/// # Errors
/// The pod network is too small.
pub fn assign(
    pods: Ipv4Net,
    node_prefix: u8,
    given: &[Option<Ipv4Net>],
) -> Result<Vec<Ipv4Net>, PlanError> {
    let mut parts = pods
        .subnets(node_prefix)
        .map_err(|_| PlanError::Prefix { pods, node_prefix })?;
    let taken: BTreeSet<Ipv4Net> = given.iter().flatten().map(Ipv4Net::trunc).collect();
    let mut free = || parts.find(|part| !overlaps_any(*part, &taken));
    given
        .iter()
        .map(|own| match own {
            Some(own) => Ok(own.trunc()),
            None => free().ok_or(PlanError::Full {
                pods,
                node_prefix,
                parts: 1 << (node_prefix - pods.prefix_len()),
                nodes: given.len(),
            }),
        })
        .collect()
}

/// Two networks are disjoint or one contains the other. Looks up every possible
/// container, so that 10,000 nodes take linear time.
fn overlaps_any(part: Ipv4Net, taken: &BTreeSet<Ipv4Net>) -> bool {
    let containers = (0..=part.prefix_len()).filter_map(|length| {
        let container = Ipv4Net::new(part.network(), length).ok()?;
        Some(container.trunc())
    });
    let mut containers = containers.into_iter();
    let first = Ipv4Net::from(part.network());
    let last = Ipv4Net::from(part.broadcast());
    let mut inside = taken.range((Unbounded, Included(last))).rev();
    containers.any(|container| taken.contains(&container))
        || inside
            .next()
            .is_some_and(|other| other.network() >= first.network())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(text: &str) -> Ipv4Net {
        text.parse().unwrap()
    }

    #[test]
    fn given_networks_stay_and_others_avoid_them() {
        let given = [
            None,
            Some(net("10.244.0.0/24")),
            None,
            Some(net("10.244.2.128/25")),
        ];
        let planned = assign(net("10.244.0.0/16"), 24, &given).unwrap();
        let shown: Vec<String> = planned.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "10.244.1.0/24",
                "10.244.0.0/24",
                "10.244.3.0/24",
                "10.244.2.128/25"
            ]
        );
    }

    #[test]
    fn too_small_pod_network_is_an_error() {
        let full = assign(net("10.244.0.0/23"), 24, &[None, None, None]).unwrap_err();
        assert!(full.to_string().contains("room for 2 nodes"), "{full}");
        assert!(full.to_string().contains("there are 3"), "{full}");
        assert!(assign(net("10.244.0.0/25"), 24, &[None]).is_err());
    }
}
