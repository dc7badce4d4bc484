//! Host name, service start types and privileges.

use casement_node::system;
use casement_resource::StartType;

use super::{Check, Host, Outcome, ensure, equal, ok};

pub const CHECKS: &[Check] = &[
    ("host name", name),
    ("service start type", start),
    ("agent privileges", privileges),
];

/// An administrator whose executable and state directory nobody else can change.
fn privileges(host: &Host) -> Outcome {
    ok(system::check_privileges())?;
    ok(system::check_parent_dirs(host.layout.root()))
}

fn name(host: &Host) -> Outcome {
    let identity = &host.platform;
    let before = ok(identity.hostname())?;
    println!("# {before:?}");
    ensure(!before.name.is_empty(), "the host has no name")?;
    equal(&before.domain, &None)?;
    ok(identity.set_hostname("platformcheck"))?;
    let after = ok(identity.hostname())?;
    ok(identity.set_hostname(&before.name))?;
    equal(after.name.to_lowercase(), "platformcheck".to_owned())?;
    equal(ok(identity.hostname())?, before)
}

/// The service that the service checks leave behind.
fn start(host: &Host) -> Outcome {
    let services = &host.platform;
    let now = || -> Result<StartType, String> {
        let found = ok(services.service("platformcheck"))?;
        Ok(found.ok_or("the service is gone")?.start)
    };
    let before = now()?;
    for start in [StartType::Disabled, StartType::Manual, before] {
        ok(services.set_service_start("platformcheck", start))?;
        equal(now()?, start)?;
    }
    ensure(
        services
            .set_service_start("no-such", StartType::Manual)
            .is_err(),
        "a missing service was changed",
    )
}
