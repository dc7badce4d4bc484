//! Clusters without machines: a small Kubernetes API server ([`api_server`]) and
//! simulated hosts ([`host`]) in one process, with models of the programs that run on
//! them ([`programs`]) and of the controllers of a control plane ([`controllers`]).
//! `casement demo` and most tests run on it.
//!
//! Simulated hosts run the agent's own engine on an in-memory platform behind a real
//! SSH server. They prove the protocol, the order of steps and the handling of faults
//! ([`fault`]); what Windows itself does is modeled as it is understood.

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
pub use cluster::{MOST_HOSTS, SimCluster, SimError, SimNetwork, SimShape};
pub use fault::Mishap;
pub use host::{Console, Cut, SimHost, SimSpec, SimSystem, make_key, stand_in};
pub use programs::{Cni, Kubelet, Runtime, verdict};
