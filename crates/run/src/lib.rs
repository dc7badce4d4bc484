//! Carries a plan out over many hosts and the cluster.
//!
//! It knows the order of things (prepare, token, join, network, ready) and
//! nothing of how a host is reached or how the API is spoken to. A host that
//! fails does not stop the others.

pub mod api;
pub mod apply;
mod error;
mod first_contact;
pub mod fit;
pub mod host;
pub mod job;
pub mod kube;
pub mod link;
pub mod many;
pub mod reset;
pub mod secrets;
pub mod source;
pub mod stop;
mod turn;
pub mod unavailable;

pub use error::RunError;
