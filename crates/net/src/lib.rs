//! The address plan and the network configuration documents of a cluster.
//!
//! Computes pod networks and routes, and provides typed documents for flannel, CNI
//! plugins and the Host Networking Service. No I/O: the `plan` crate decides which
//! documents a cluster needs.
//!
//! ```
//! use casement_net::flannel::{Backend, NetConf};
//!
//! let backend = Backend::Vxlan { vni: 4096, port: 4789, name: None, mtu: None };
//! let document = NetConf::new("10.244.0.0/16".parse().unwrap(), backend);
//! assert!(casement_net::text(&document).contains("\"VNI\": 4096"));
//! ```

// This crate is pure; see clippy.toml.
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod address_plan;
pub mod cni;
mod deferred;
pub mod flannel;
pub mod hns;
pub mod pod_network;
pub mod routes;

pub use deferred::Deferred;

/// The document as indented JSON with a final line feed. Deterministic: fields in the
/// order of the type.
#[expect(
    clippy::expect_used,
    reason = "documents of this crate have string keys and finite numbers"
)]
pub fn text<T: serde::Serialize>(document: &T) -> String {
    let mut text = serde_json::to_string_pretty(document).expect("a document of this crate");
    text.push('\n');
    text
}

/// The document as a JSON value.
#[expect(
    clippy::expect_used,
    reason = "documents of this crate have string keys and finite numbers"
)]
pub fn value<T: serde::Serialize>(document: &T) -> serde_json::Value {
    serde_json::to_value(document).expect("a document of this crate")
}
