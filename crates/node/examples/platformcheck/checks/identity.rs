//! The host's name, and when its services start.

use casement_node::system;
use casement_resource::StartType;

use super::{Check, Host, Outcome, did, equal, so};

pub const CHECKS: &[Check] = &[
    ("name of the host", name),
    ("start of a service", start),
    ("standing of the agent", standing),
];

/// An administrator, with a program and a state folder that nobody else can
/// change.
fn standing(host: &Host) -> Outcome {
    did(system::check_standing())?;
    did(system::check_way(host.layout.root()))
}

fn name(host: &Host) -> Outcome {
    let identity = &host.platform;
    let before = did(identity.hostname())?;
    println!("# {before:?}");
    so(!before.name.is_empty(), "the host has no name")?;
    equal(&before.domain, &None)?;
    did(identity.set_hostname("platformcheck"))?;
    let after = did(identity.hostname())?;
    did(identity.set_hostname(&before.name))?;
    equal(after.name.to_lowercase(), "platformcheck".to_owned())?;
    equal(did(identity.hostname())?, before)
}

/// The service that the checks of services have left.
fn start(host: &Host) -> Outcome {
    let services = &host.platform;
    let now = || -> Result<StartType, String> {
        let found = did(services.service("platformcheck"))?;
        Ok(found.ok_or("the service is gone")?.start)
    };
    let before = now()?;
    for start in [StartType::Disabled, StartType::Manual, before] {
        did(services.set_service_start("platformcheck", start))?;
        equal(now()?, start)?;
    }
    so(
        services
            .set_service_start("no-such", StartType::Manual)
            .is_err(),
        "a service that is not there was changed",
    )
}
