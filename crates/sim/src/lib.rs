//! Simulated clusters: a small Kubernetes API server ([`api_server`]) and simulated hosts
//! ([`host`]) in one process, with models of the programs that run on them ([`programs`])
//! and of the controllers of a control plane ([`controllers`]). Used by `casement demo` and
//! most tests.
//!
//! Simulated hosts run the agent's own engine on an in-memory platform behind a real
//! SSH server. They test the protocol, the order of steps and the handling of faults
//! ([`fault`]); the behavior of Windows itself is a model.

pub mod api_server;
pub mod bare_host;
pub mod cluster;
mod controllers;
pub mod fault;
#[cfg(test)]
mod fixture;
pub mod host;
pub mod programs;
mod random;
pub mod sftp;

pub use bare_host::{bare_linux, bare_windows};
pub use cluster::{MAX_HOSTS, SimCluster, SimError, SimNetwork, SimOptions};
pub use fault::SimFault;
pub use host::{
    Console, Cut, SimHost, SimSpec, SimSystem, encrypt_key, make_key, placeholder_program,
};
pub use programs::{Cni, KubeletState, Runtime, evaluate};
