//! The address plan and the network documents of a cluster.
//!
//! Pure: it says which addresses a node's pod network has, which routes lead to
//! the others, and what flannel, the CNI plugins and the Host Networking Service
//! read, each as a typed document. How a document gets to a host is not its
//! business, nor which of them a cluster needs: that is the plan's.
//!
//! ```
//! use casement_net::flannel::{Backend, NetConf};
//!
//! let backend = Backend::Vxlan { vni: 4096, port: 4789, name: None, mtu: None };
//! let document = NetConf::new("10.244.0.0/16".parse().unwrap(), backend);
//! assert!(casement_net::text(&document).contains("\"VNI\": 4096"));
//! ```

pub mod address_plan;
pub mod cni;
pub mod flannel;
pub mod hns;
#[path = "deferred.rs"]
mod late;
pub mod pod_network;
pub mod routes;

pub use late::Late;

/// A document as a file: indented JSON, fields in the order of the type, a line
/// feed at the end; the same bytes for the same document.
#[expect(
    clippy::expect_used,
    reason = "the documents of this crate have text keys and finite numbers"
)]
pub fn text<T: serde::Serialize>(document: &T) -> String {
    let mut text = serde_json::to_string_pretty(document).expect("a document of this crate");
    text.push('\n');
    text
}
