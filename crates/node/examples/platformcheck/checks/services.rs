//! Services of the Service Control Manager.

use std::collections::BTreeMap;

use casement_resource::{
    Condition, ConditionFacts, Failure, ServiceDefinition, ServiceState, StartType,
};

use super::{Check, Host, Outcome, ensure, equal, eventually, ok};

pub const CHECKS: &[Check] = &[
    ("service lifecycle", lifecycle),
    ("dependents stop first", dependents),
    ("program exits immediately", exits_immediately),
    ("program is missing", missing),
    ("foreign service is saved and restored", foreign),
    ("service left for sc", left_for_sc),
];

/// Left behind for `sc query`.
pub const LEFT: &str = "platformcheck";

pub fn clean(host: &Host) -> Result<(), Failure> {
    host.platform.stop_service(LEFT)?;
    host.platform.delete_service(LEFT)
}

/// A service that runs this program with the subcommand `child`.
pub fn definition(name: &str, arguments: &[&str]) -> ServiceDefinition {
    let agent = std::env::current_exe()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    let mut program = vec![agent, "child".to_owned()];
    program.extend(arguments.iter().map(|&argument| argument.to_owned()));
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

fn lifecycle(host: &Host) -> Outcome {
    let services = &host.platform;
    let name = "platformcheck-lifecycle";
    let mut expected = definition(name, &["wait"]);
    equal(ok(services.service(name))?, None)?;
    ok(services.install_service(&expected))?;
    let observed = ok(services.service(name))?.unwrap();
    equal(observed.definition.as_ref(), Some(&expected))?;
    equal(observed.foreign_command, None)?;
    equal(observed.state, ServiceState::Stopped)?;
    expected.display_name = "another name".to_owned();
    expected.start = StartType::Automatic;
    expected.depends_on = vec!["RpcSs".to_owned()];
    ok(services.install_service(&expected))?;
    let observed = ok(services.service(name))?.unwrap();
    ensure(
        expected.diff(&observed).is_empty(),
        &format!("{:?}", expected.diff(&observed)),
    )?;
    ok(services.start_service(name))?;
    ok(services.start_service(name))?;
    equal(
        ok(services.service(name))?.unwrap().state,
        ServiceState::Running,
    )?;
    let running = Condition::ServiceRunning(name.to_owned());
    equal(ok(services.condition(&running))?, ConditionFacts::Holds)?;
    equal(ok(services.stop_service(name))?, Vec::new())?;
    equal(
        ok(services.service(name))?.unwrap().state,
        ServiceState::Stopped,
    )?;
    ok(services.delete_service(name))?;
    ok(services.delete_service(name))?;
    equal(ok(services.service(name))?, None)?;
    ok(services.install_service(&expected))?;
    ok(services.delete_service(name))
}

fn dependents(host: &Host) -> Outcome {
    let services = &host.platform;
    let names = ["platformcheck-a", "platformcheck-b", "platformcheck-c"];
    for (at, name) in names.iter().enumerate() {
        let mut expected = definition(name, &["wait"]);
        expected.depends_on = names[..at].iter().map(|&name| name.to_owned()).collect();
        ok(services.install_service(&expected))?;
        ok(services.start_service(name))?;
    }
    let stopped = ok(services.stop_service(names[0]))?;
    for name in names {
        equal(
            ok(services.service(name))?.unwrap().state,
            ServiceState::Stopped,
        )?;
        ok(services.delete_service(name))?;
    }
    equal(stopped, vec![names[2].to_owned(), names[1].to_owned()])
}

fn exits_immediately(host: &Host) -> Outcome {
    let services = &host.platform;
    let name = "platformcheck-exits_immediately";
    ok(services.install_service(&definition(name, &["fail"])))?;
    // Whether the SCM sees the service before or after the program exits is a race.
    let _ = services.start_service(name);
    let state = ok(services.service(name))?.unwrap().state;
    ensure(state != ServiceState::Stopped, "the service stopped")?;
    let log = r"C:\var\log\platformcheck-exits_immediately\platformcheck-exits_immediately.log";
    let logged = eventually("the log has the exit code", || {
        std::fs::read_to_string(log)
            .unwrap_or_default()
            .contains("exit code 7")
    });
    ok(services.stop_service(name))?;
    ok(services.delete_service(name))?;
    logged
}

fn missing(host: &Host) -> Outcome {
    let services = &host.platform;
    let name = "platformcheck-missing";
    let mut expected = definition(name, &[]);
    expected.program = vec![r"C:\no\such.exe".to_owned()];
    ok(services.install_service(&expected))?;
    let started = services.start_service(name);
    let state = ok(services.service(name))?.unwrap().state;
    ok(services.delete_service(name))?;
    equal(state, ServiceState::Stopped)?;
    let failure = started.err().ok_or("the service started")?;
    ensure(
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
    // A service that looks foreign, created with `restore_service`.
    let saved = serde_json::json!({
        "displayName": "foreign", "description": "d", "commandLine": r#""C:\a b\c.exe" -x "y z""#,
        "dependencies": ["RpcSs"], "start": 3, "running": false,
        "manners": {"PreshutdownTimeout": {"number": 7000}},
    });
    ok(services.restore_service(name, &saved))?;
    let observed = ok(services.service(name))?.unwrap();
    equal(
        observed.foreign_command.as_deref(),
        Some(r#""C:\a b\c.exe" -x "y z""#),
    )?;
    equal(ok(services.save_service(name))?, Some(saved.clone()))?;
    ok(services.install_service(&definition(name, &["wait"])))?;
    equal(ok(services.service(name))?.unwrap().foreign_command, None)?;
    ok(services.restore_service(name, &saved))?;
    let again = ok(services.save_service(name))?;
    ok(services.delete_service(name))?;
    equal(again, Some(saved))
}

fn left_for_sc(host: &Host) -> Outcome {
    ok(host.platform.install_service(&definition(LEFT, &["wait"])))?;
    ok(host.platform.start_service(LEFT))
}
