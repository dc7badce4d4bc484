//! From a spec and facts to what every host should be.
//!
//! Pure: no clock, no network, no files; the same input gives the same bytes.
//! Some values exist only later (a node's pod network is known after it has
//! joined), so there is one document for each host and [`Stage`], each made when
//! its facts are there. [`render`] shows the files, flags and network documents
//! that are in them, from the same functions, without any host or cluster.
//!
//! [`Stage`]: casement_resource::Stage

mod accounts;
mod containerd;
mod facts;
mod host_process;
mod join;
mod kube_proxy;
mod kubelet;
pub mod linux;
#[path = "unsupported.rs"]
mod not_yet;
pub mod offline;
#[path = "node_paths.rs"]
mod places;
mod pods;
mod release;
pub mod render;
mod services;
mod steps;
#[path = "host_environment.rs"]
mod surroundings;
pub mod windows;

pub use accounts::{PROXY_PASSWORD, REGISTRY_PASSWORD};
pub use facts::{ClusterFacts, Inputs, NodeFacts};
pub use host_process::host_process;
pub use not_yet::not_yet;
pub use places::log_file;
pub use pods::net_conf;
pub use steps::PlanError;
pub use surroundings::pull_proxy;
