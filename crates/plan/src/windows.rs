//! The documents of a Windows node.

mod images;
mod network;
mod prepare;
mod programs;
mod system;
mod updates;

pub use network::network;
pub(crate) use network::node_identity;
pub use prepare::prepare;
pub(crate) use programs::names;
pub(crate) use updates::floors;

pub use crate::join::{BOOTSTRAP_TOKEN, join};

use casement_resource::{AdapterSettings, Repair, Resource};
use casement_spec::{Cluster, Host, RepairPolicy};

use crate::steps::{PlanError, Steps};

/// Saves the settings of the host's adapter before a vSwitch takes it over. Returns the
/// id of the step.
pub(crate) fn adapter_settings(steps: &mut Steps, host: &Host) -> Result<&'static str, PlanError> {
    let id = "adapter";
    let address = host.address.into();
    let settings = AdapterSettings { address };
    steps.add(id, &[], Resource::AdapterSettings(settings))?;
    Ok(id)
}

fn repair(cluster: &Cluster) -> Repair {
    match cluster.spec.windows.repair {
        RepairPolicy::Auto => Repair::Auto,
        RepairPolicy::Report => Repair::Report,
    }
}
