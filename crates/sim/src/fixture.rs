//! Fixtures shared by the tests of several models.

use std::collections::BTreeMap;

use casement_node::sim::Service;
use casement_resource::{ServiceDefinition, ServiceState, StartType};

pub(crate) fn service(name: &str, program: &[&str]) -> (String, Service) {
    let log = format!(r"C:\var\log\{name}\{name}.log");
    let definition = ServiceDefinition {
        name: name.to_owned(),
        display_name: name.to_owned(),
        program: program
            .iter()
            .map(|argument| (*argument).to_owned())
            .collect(),
        environment: BTreeMap::new(),
        environment_file: None,
        flags_file: Some(r"C:\flags.env".parse().unwrap()),
        depends_on: Vec::new(),
        log_file: Some(log.parse().unwrap()),
        ready: None,
        ready_seconds: 1,
        start: StartType::Automatic,
    };
    let service = Service {
        definition: Some(definition),
        command: None,
        display_name: name.to_owned(),
        start: StartType::Automatic,
        depends_on: Vec::new(),
        state: ServiceState::Running,
        recovers: false,
        environment: BTreeMap::new(),
    };
    (name.to_owned(), service)
}
