//! Services as the Service Control Manager has them.

use std::collections::BTreeMap;

use casement_resource::{
    Condition, ConditionFacts, Failure, ServiceDefinition, ServiceState, StartType,
};

use super::{Check, Host, Outcome, did, equal, eventually, so};

pub const CHECKS: &[Check] = &[
    ("service is made, run, stopped, deleted", life),
    ("dependants stop first", dependants),
    ("program that ends at once", short),
    ("program that is missing", missing),
    ("foreign service is saved and restored", foreign),
    ("service that stays", stays),
];

/// Left behind for `sc query`.
pub const STAYS: &str = "platformcheck";

pub fn clean(host: &Host) -> Result<(), Failure> {
    host.platform.stop_service(STAYS)?;
    host.platform.delete_service(STAYS)
}

/// A service whose program is this one, as a child.
pub fn definition(name: &str, does: &[&str]) -> ServiceDefinition {
    let agent = std::env::current_exe()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    let mut program = vec![agent, "child".to_owned()];
    program.extend(does.iter().map(|&word| word.to_owned()));
    ServiceDefinition {
        name: name.to_owned(),
        display_name: format!("casement check {name}"),
        program,
        environment: BTreeMap::from([("PLATFORMCHECK".to_owned(), "yes".to_owned())]),
        environment_file: None,
        flags_file: None,
        depends_on: Vec::new(),
        log_file: Some(format!(r"C:\var\log\{name}\{name}.log").parse().unwrap()),
        ready: None,
        ready_seconds: 20,
        start: StartType::Manual,
    }
}

fn life(host: &Host) -> Outcome {
    let services = &host.platform;
    let name = "platformcheck-life";
    let mut wanted = definition(name, &["wait"]);
    equal(did(services.service(name))?, None)?;
    did(services.install_service(&wanted))?;
    let seen = did(services.service(name))?.unwrap();
    equal(seen.definition.as_ref(), Some(&wanted))?;
    equal(seen.foreign_command, None)?;
    equal(seen.state, ServiceState::Stopped)?;
    wanted.display_name = "another name".to_owned();
    wanted.start = StartType::Automatic;
    wanted.depends_on = vec!["RpcSs".to_owned()];
    did(services.install_service(&wanted))?;
    let seen = did(services.service(name))?.unwrap();
    so(
        wanted.diff(&seen).is_empty(),
        &format!("{:?}", wanted.diff(&seen)),
    )?;
    did(services.start_service(name))?;
    did(services.start_service(name))?;
    equal(
        did(services.service(name))?.unwrap().state,
        ServiceState::Running,
    )?;
    let running = Condition::ServiceRunning(name.to_owned());
    equal(did(services.condition(&running))?, ConditionFacts::Holds)?;
    equal(did(services.stop_service(name))?, Vec::new())?;
    equal(
        did(services.service(name))?.unwrap().state,
        ServiceState::Stopped,
    )?;
    did(services.delete_service(name))?;
    did(services.delete_service(name))?;
    equal(did(services.service(name))?, None)?;
    did(services.install_service(&wanted))?;
    did(services.delete_service(name))
}

fn dependants(host: &Host) -> Outcome {
    let services = &host.platform;
    let names = ["platformcheck-a", "platformcheck-b", "platformcheck-c"];
    for (at, name) in names.iter().enumerate() {
        let mut wanted = definition(name, &["wait"]);
        wanted.depends_on = names[..at].iter().map(|&name| name.to_owned()).collect();
        did(services.install_service(&wanted))?;
        did(services.start_service(name))?;
    }
    let stopped = did(services.stop_service(names[0]))?;
    for name in names {
        equal(
            did(services.service(name))?.unwrap().state,
            ServiceState::Stopped,
        )?;
        did(services.delete_service(name))?;
    }
    equal(stopped, vec![names[2].to_owned(), names[1].to_owned()])
}

fn short(host: &Host) -> Outcome {
    let services = &host.platform;
    let name = "platformcheck-short";
    did(services.install_service(&definition(name, &["fail"])))?;
    // Whether the manager is asked before or after the program's end is chance.
    let _ = services.start_service(name);
    let state = did(services.service(name))?.unwrap().state;
    so(state != ServiceState::Stopped, "it was given up")?;
    let log = r"C:\var\log\platformcheck-short\platformcheck-short.log";
    let said = eventually("the log has the exit code", || {
        std::fs::read_to_string(log)
            .unwrap_or_default()
            .contains("exit code 7")
    });
    did(services.stop_service(name))?;
    did(services.delete_service(name))?;
    said
}

fn missing(host: &Host) -> Outcome {
    let services = &host.platform;
    let name = "platformcheck-missing";
    let mut wanted = definition(name, &[]);
    wanted.program = vec![r"C:\no\such.exe".to_owned()];
    did(services.install_service(&wanted))?;
    let started = services.start_service(name);
    let state = did(services.service(name))?.unwrap().state;
    did(services.delete_service(name))?;
    equal(state, ServiceState::Stopped)?;
    let failure = started.err().ok_or("it started")?;
    so(
        failure
            .found
            .as_deref()
            .unwrap_or_default()
            .contains(r"C:\no\such.exe"),
        &format!("{failure:?}"),
    )
}

fn foreign(host: &Host) -> Outcome {
    let services = &host.platform;
    let name = "platformcheck-foreign";
    // One that looks foreign, made by the means at hand.
    let saved = serde_json::json!({
        "displayName": "somebody's", "description": "d", "commandLine": r#""C:\a b\c.exe" -x "y z""#,
        "dependencies": ["RpcSs"], "start": 3, "running": false,
        "manners": {"PreshutdownTimeout": {"number": 7000}},
    });
    did(services.restore_service(name, &saved))?;
    let seen = did(services.service(name))?.unwrap();
    equal(
        seen.foreign_command.as_deref(),
        Some(r#""C:\a b\c.exe" -x "y z""#),
    )?;
    equal(did(services.save_service(name))?, Some(saved.clone()))?;
    did(services.install_service(&definition(name, &["wait"])))?;
    equal(did(services.service(name))?.unwrap().foreign_command, None)?;
    did(services.restore_service(name, &saved))?;
    let again = did(services.save_service(name))?;
    did(services.delete_service(name))?;
    equal(again, Some(saved))
}

fn stays(host: &Host) -> Outcome {
    did(host.platform.install_service(&definition(STAYS, &["wait"])))?;
    did(host.platform.start_service(STAYS))
}
