//! Turns a spec and facts into the desired state of every host.
//!
//! Pure: no clock, no network, no files; the same input gives the same bytes. Some values are
//! known late (the pod network of a node after it has joined), so each host has one document
//! per [`Stage`], planned when its facts are known. [`render`] shows the files, flags and
//! network documents in them without any host or cluster.
//!
//! [`Stage`]: casement_resource::Stage

// This crate is pure; see clippy.toml.
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod accounts;
mod containerd;
mod facts;
mod hns;
mod host_environment;
mod host_process;
mod join;
mod kube_proxy;
mod kubelet;
pub mod linux;
mod modes;
mod node_paths;
pub mod offline;
mod pods;
mod release;
pub mod render;
mod services;
mod steps;
mod unsupported;
pub mod windows;

pub use accounts::{PROXY_PASSWORD, REGISTRY_PASSWORD};
pub use facts::{ClusterFacts, Inputs, NodeFacts};
pub use host_environment::pull_proxy;
pub use host_process::host_process;
pub use node_paths::log_file;
pub use pods::net_conf;
pub use steps::PlanError;
pub use unsupported::{SUPPORTED_MINOR, unsupported};
