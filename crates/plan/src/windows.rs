//! What a Windows node is made of.

mod images;
mod network;
mod prepare;
mod programs;
mod system;
mod updates;

pub use network::network;
pub use prepare::prepare;
pub(crate) use programs::names;
pub(crate) use updates::floors;

pub use crate::join::{BOOTSTRAP_TOKEN, join};

use casement_resource::{AdapterSettings, Repair, Resource};
use casement_spec::{Cluster, Host, RepairPolicy};

use crate::steps::{PlanError, Steps};

/// Keeps what the host's adapter has before a switch takes it; gives the step's
/// id.
fn adapter(steps: &mut Steps, host: &Host) -> Result<&'static str, PlanError> {
    let id = "adapter";
    let address = host.address.into();
    let settings = AdapterSettings { address };
    steps.add(id, &[], Resource::AdapterSettings(settings))?;
    Ok(id)
}

/// What the agent of a Windows host does when the host drifts.
fn repair(cluster: &Cluster) -> Repair {
    match cluster.spec.windows.repair {
        RepairPolicy::Auto => Repair::Auto,
        RepairPolicy::Report => Repair::Report,
    }
}
