//! Carries a plan out over many hosts and the cluster.
//!
//! It knows the order of a run (prepare, token, join, network, ready), and which hosts
//! and changes a run has; not how a host is reached or how the API works. A host that
//! fails does not stop the others.

pub mod agent_client;
pub mod apply;
pub mod blob_source;
pub mod cancel;
pub mod cluster_api;
pub mod concurrency;
mod connect;
mod error;
pub mod fleet;
pub mod host_agent;
mod host_lock;
pub mod job;
pub mod kube;
pub mod preflight;
pub mod read_only;
pub mod reset;
pub mod run_host;
pub mod secrets;
pub mod survey;
pub mod unavailable;

pub use error::RunError;
