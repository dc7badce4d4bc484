//! The address plan and the network documents of a cluster.
//!
//! Pure: it says which addresses a node's pod network has, which routes lead to
//! the others, and what the CNI plugins read. How a document gets to a host is
//! not its business.

pub mod cni;
pub mod pod_network;
pub mod routes;
