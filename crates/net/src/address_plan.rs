//! Which node has which part of the cluster's pod network.

use std::collections::BTreeSet;
use std::ops::Bound::{Included, Unbounded};

use ipnet::Ipv4Net;

/// The prefix length of a node's part where nobody says another one: what
/// kube-controller-manager uses.
pub const NODE_PREFIX: u8 = 24;

/// A pod network that cannot be cut for the nodes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A node's part would be larger than the whole.
    #[error("a node's /{node_prefix} does not fit into the pod network `{pods}`")]
    Prefix {
        /// All pods.
        pods: Ipv4Net,
        /// The prefix length of a part.
        node_prefix: u8,
    },
    /// There are more nodes than parts.
    #[error(
        "the pod network `{pods}` has {parts} parts of /{node_prefix}, and there are {nodes} nodes"
    )]
    Full {
        /// All pods.
        pods: Ipv4Net,
        /// The prefix length of a part.
        node_prefix: u8,
        /// How many parts there are.
        parts: u64,
        /// How many nodes there are.
        nodes: usize,
    },
}

/// The parts of all nodes, in their order: the given ones stay, every other
/// node gets the first part that overlaps none of those.
///
/// # Errors
/// When the parts do not fit, or do not suffice.
pub fn assign(
    pods: Ipv4Net,
    node_prefix: u8,
    given: &[Option<Ipv4Net>],
) -> Result<Vec<Ipv4Net>, PlanError> {
    let mut parts = pods
        .subnets(node_prefix)
        .map_err(|_| PlanError::Prefix { pods, node_prefix })?;
    let taken: BTreeSet<Ipv4Net> = given.iter().flatten().map(Ipv4Net::trunc).collect();
    let mut free = || parts.find(|part| !overlaps_one(*part, &taken));
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

/// Networks nest or are apart: one that overlaps `part` either contains it or
/// lies within it. Looks up each possible container, so that ten thousand nodes
/// cost no more than each its share.
fn overlaps_one(part: Ipv4Net, taken: &BTreeSet<Ipv4Net>) -> bool {
    let containers = (0..=part.prefix_len()).filter_map(|length| {
        let container = Ipv4Net::new(part.network(), length).ok()?;
        Some(container.trunc())
    });
    let mut containers = containers.into_iter();
    let first = Ipv4Net::from(part.network());
    let last = Ipv4Net::from(part.broadcast());
    let mut near = taken.range((Unbounded, Included(last))).rev();
    containers.any(|container| taken.contains(&container))
        || near
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
    fn given_parts_stay_and_the_others_go_around_them() {
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
    fn too_many_nodes_and_too_large_parts_are_told_with_both_numbers() {
        let full = assign(net("10.244.0.0/23"), 24, &[None, None, None]).unwrap_err();
        assert!(full.to_string().contains("2 parts"), "{full}");
        assert!(full.to_string().contains("3 nodes"), "{full}");
        assert!(assign(net("10.244.0.0/25"), 24, &[None]).is_err());
    }
}
