//! What a Windows node is made of.

mod network;
mod prepare;
mod programs;

pub use network::network;
pub use prepare::prepare;
pub(crate) use programs::names;

pub use crate::join::{BOOTSTRAP_TOKEN, join};

use casement_resource::Repair;
use casement_spec::{Cluster, RepairPolicy};

/// What the agent of a Windows host does when the host drifts.
fn repair(cluster: &Cluster) -> Repair {
    match cluster.spec.windows.repair {
        RepairPolicy::Auto => Repair::Auto,
        RepairPolicy::Report => Repair::Report,
    }
}
