//! The Kubernetes API side of casement: observing a cluster, permission checks,
//! bootstrap tokens, node watches, and reversible changes.
//!
//! Every change is a [`ClusterChange`] value that `plan` can show before it is
//! applied. This crate knows nothing about how hosts are reached.
//!
//! ```no_run
//! # async fn example() -> Result<(), casement_cluster::ClusterError> {
//! use casement_cluster::ClusterClient;
//!
//! let cluster = ClusterClient::connect("admin.conf".as_ref()).await?;
//! cluster.check_permissions().await?;
//! let observed = cluster.observe().await?;
//! for change in observed.os_selector_changes() {
//!     cluster.apply(&change).await?;
//! }
//! # Ok(())
//! # }
//! ```

mod calico;
mod change;
mod client;
mod csr;
mod diagnosis;
mod drain;
mod error;
mod facts;
mod flannel;
mod node;
mod owned;
mod patch;
mod permissions;
mod restore;
mod sample;
mod state;
mod token;
mod watch;

pub use calico::{CalicoFacts, CalicoPool};
pub use change::{ApplyOutcome, ChangeMethod, ClusterChange, ObjectRef};
pub use client::ClusterClient;
pub use csr::JoiningNode;
pub use drain::Drained;
pub use error::{AccessError, ClusterError};
pub use facts::{Cni, DaemonSetFacts, ObservedCluster, ObservedNode};
pub use flannel::{FlannelFacts, FlannelLease, ObservedNetConf};
pub use node::Cordon;
pub use owned::{
    node_proxier_binding, node_proxier_binding_ref, overlay_binding, overlay_binding_ref,
    overlay_role, overlay_role_ref, runtime_class, runtime_class_ref,
};
pub use permissions::{
    PERMISSIONS, PERMISSIONS_YAML, Permission, calico_permissions, flannel_permissions,
    host_process_permissions, host_process_refs,
};
pub use restore::{RestoreOutcome, RestoredField};
pub use sample::{
    Expose, Sample, SamplePart, SampleService, SampleStatus, sample_objects, sample_permissions,
};
pub use token::{BootstrapToken, BootstrapTokenRequest};
pub use watch::{NodeState, NodeWatch};

pub use k8s_openapi::api::core::v1::Taint as NodeTaint;

pub const FIELD_MANAGER: &str = "casement";

/// Marks objects that casement created: only these are ever deleted.
pub const OWNED_LABEL: (&str, &str) = ("app.kubernetes.io/managed-by", "casement");
