//! The Kubernetes API, as casement uses it: what a cluster is, what may be done
//! there, bootstrap tokens, waiting for nodes, and changes that can be taken back.
//!
//! Every change is a [`ClusterChange`] first, a value that `plan` can show, and
//! only then carried out. How nodes are reached and what happens on them is not
//! known here.
//!
//! ```no_run
//! # async fn example() -> Result<(), casement_cluster::ClusterError> {
//! use casement_cluster::Cluster;
//!
//! let cluster = Cluster::connect("admin.conf".as_ref()).await?;
//! cluster.check_rights().await?;
//! let facts = cluster.facts().await?;
//! for change in facts.os_selector_changes() {
//!     cluster.carry_out(&change).await?;
//! }
//! # Ok(())
//! # }
//! ```

mod calico;
mod change;
#[path = "client.rs"]
mod connect;
mod drain;
mod error;
mod facts;
mod flannel;
mod node;
mod owned;
mod patch;
#[path = "csr.rs"]
mod request;
mod restore;
#[path = "permissions.rs"]
mod rights;
mod sample;
mod state;
mod token;
#[path = "diagnosis.rs"]
mod trouble;
mod watch;

pub use calico::{CalicoFacts, CalicoPool};
pub use change::{CarriedOut, ClusterChange, ObjectRef, Way};
pub use connect::Cluster;
pub use drain::Drained;
pub use error::ClusterError;
pub use facts::{ClusterFacts, Cni, DaemonSetFacts, NodeFacts};
pub use flannel::{FlannelFacts, FlannelLease, NetConfSeen};
pub use node::Cordon;
pub use owned::{
    node_proxier_binding, node_proxier_binding_ref, overlay_binding, overlay_binding_ref,
    overlay_role, overlay_role_ref, runtime_class, runtime_class_ref,
};
pub use request::Joining;
pub use restore::{Restored, RestoredHow};
pub use rights::{
    RIGHTS, RIGHTS_YAML, Right, calico_rights, flannel_rights, host_process_refs,
    host_process_rights,
};
pub use sample::{
    Expose, Sample, SamplePart, SampleService, SampleStatus, sample_objects, sample_rights,
};
pub use token::{BootstrapToken, TokenOrder};
pub use trouble::{NodeWord, OpenRequest, PodTrouble, Troubles};
pub use watch::{NodeState, NodeWatch};

/// A taint, as the API has it.
pub use k8s_openapi::api::core::v1::Taint as NodeTaint;

/// The name under which casement's fields are managed.
pub const FIELD_MANAGER: &str = "casement";

/// Marks objects that casement made: only these are ever deleted.
pub const OWNED_LABEL: (&str, &str) = ("app.kubernetes.io/managed-by", "casement");
