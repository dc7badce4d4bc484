//! Carries a plan out over many hosts and the cluster.
//!
//! It knows the order of things (prepare, token, join, network, ready) and
//! nothing of how a host is reached or how the API is spoken to. A host that
//! fails does not stop the others.

#[path = "cluster_api.rs"]
pub mod api;
pub mod apply;
mod error;
#[path = "connect.rs"]
mod first_contact;
#[path = "preflight.rs"]
pub mod fit;
#[path = "host_agent.rs"]
pub mod host;
pub mod job;
pub mod kube;
#[path = "agent_client.rs"]
pub mod link;
#[path = "concurrency.rs"]
pub mod many;
pub mod reset;
pub mod secrets;
#[path = "blob_source.rs"]
pub mod source;
#[path = "cancel.rs"]
pub mod stop;
#[path = "host_lock.rs"]
mod turn;
pub mod unavailable;

pub use error::RunError;
