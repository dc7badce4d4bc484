//! `service`: a program run as an operating system service.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::diff::compare;
use crate::{Change, Condition, Diff, HostPath, ResourceId};

/// The first delay before an exited program is restarted.
pub const RESTART_FIRST_SECONDS: u64 = 1;
/// The delay doubles with each exit, up to this (Windows; systemd keeps the first).
pub const RESTART_LONGEST_SECONDS: u64 = 60;

/// When the operating system starts a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StartType {
    /// At boot.
    Automatic,
    /// On demand.
    Manual,
    /// Only observed, never set.
    Disabled,
}

impl fmt::Display for StartType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Automatic => "automatic",
            Self::Manual => "manual",
            Self::Disabled => "disabled",
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Run {
    Running,
    /// Not managed here (kubeadm starts the kubelet).
    Either,
}

/// `casement-node host NAME` reads it as JSON from the state folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServiceDefinition {
    /// The service name.
    pub name: String,
    /// The display name.
    pub display_name: String,
    /// The program and its arguments; never empty.
    pub program: Vec<String>,
    /// Variables added to the environment of the service host.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// A file with more variables, one `NAME=value` per line, read at each start: for
    /// values that a document must not contain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment_file: Option<HostPath>,
    /// A file in the format of `kubeadm-flags.env`, read at each start: its arguments are
    /// appended to `program`. It may be missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flags_file: Option<HostPath>,
    /// Services that must be ready before this one starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// Rotated by the service host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_file: Option<HostPath>,
    /// When dependents may start; none: as soon as it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<Condition>,
    pub ready_seconds: u32,
    pub start: StartType,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Service {
    pub definition: ServiceDefinition,
    pub run: Run,
    /// Steps (files, artifacts) whose change restarts a running service.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restart_on: Vec<ResourceId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ServiceState {
    Running,
    Stopped,
    /// Starting or stopping.
    Changing,
}

impl fmt::Display for ServiceState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Running => "running",
            Self::Stopped => "stopped",
            Self::Changing => "starting or stopping",
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObservedService {
    /// What casement defined under this name; none for a foreign service.
    pub definition: Option<ServiceDefinition>,
    /// The registered command line, if it is not casement's service host for this name
    /// (of any agent version).
    pub foreign_command: Option<String>,
    /// The registered display name.
    pub display_name: String,
    /// The registered start type.
    pub start: StartType,
    /// The registered dependencies.
    pub depends_on: Vec<String>,
    pub state: ServiceState,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum ServiceFacts {
    /// The service does not exist.
    Absent,
    Present {
        #[serde(rename = "seen")]
        seen: Box<ObservedService>,
        /// One of `restart_on` has changed since it was last started.
        stale: bool,
        /// Whether the `ready` condition is met; none without a condition or if the
        /// service does not run.
        ready: Option<bool>,
    },
}

impl Service {
    #[must_use]
    pub fn diff(&self, facts: &ServiceFacts) -> Diff {
        let (seen, stale, ready) = match facts {
            ServiceFacts::Absent => {
                let program = self.definition.program.join(" ");
                return Diff::Changes(vec![Change::missing("program", program)]);
            }
            ServiceFacts::Present { seen, stale, ready } => (seen, *stale, *ready),
        };
        let mut changes = self.definition.diff(seen);
        if self.run == Run::Running {
            compare(&mut changes, "state", &seen.state, &ServiceState::Running);
            if ready == Some(false) {
                changes.push(Change::field("ready", "not yet", self.ready()));
            }
        }
        if stale && seen.state != ServiceState::Stopped {
            changes.push(Change::field(
                "runs with",
                "outdated files",
                "current files",
            ));
        }
        Diff::from_changes(changes, || format!("{}, {}", seen.state, seen.start))
    }

    fn ready(&self) -> String {
        let ready = self.definition.ready.as_ref();
        ready.map_or_else(|| "running".to_owned(), ToString::to_string)
    }
}

impl ServiceDefinition {
    /// The differences from the registered service; each needs a restart.
    #[must_use]
    pub fn diff(&self, seen: &ObservedService) -> Vec<Change> {
        let mut changes = Vec::new();
        if let Some(command) = &seen.foreign_command {
            changes.push(Change::field("command", command, "casement's service host"));
        }
        compare(
            &mut changes,
            "displayName",
            &seen.display_name,
            &self.display_name,
        );
        compare(&mut changes, "start", &seen.start, &self.start);
        compare_lists(
            &mut changes,
            "dependsOn",
            &seen.depends_on,
            &self.depends_on,
        );
        let Some(before) = &seen.definition else {
            changes.push(Change::missing("program", self.program.join(" ")));
            return changes;
        };
        compare(
            &mut changes,
            "program",
            &before.program.join(" "),
            &self.program.join(" "),
        );
        // The joined text may hide a difference (`a b` versus `a`, `b`).
        if changes.iter().all(|change| change.field != "program") {
            compare_debug(&mut changes, "program", &before.program, &self.program);
        }
        compare_debug(
            &mut changes,
            "environment",
            &before.environment,
            &self.environment,
        );
        compare_debug(
            &mut changes,
            "environmentFile",
            &before.environment_file,
            &self.environment_file,
        );
        compare_debug(
            &mut changes,
            "flagsFile",
            &before.flags_file,
            &self.flags_file,
        );
        compare_debug(&mut changes, "logFile", &before.log_file, &self.log_file);
        compare_debug(&mut changes, "ready", &before.ready, &self.ready);
        compare(
            &mut changes,
            "readySeconds",
            &before.ready_seconds,
            &self.ready_seconds,
        );
        changes
    }
}

fn compare_debug<T: PartialEq + fmt::Debug>(
    changes: &mut Vec<Change>,
    field: &str,
    before: &T,
    after: &T,
) {
    if before != after {
        changes.push(Change::field(
            field,
            format!("{before:?}"),
            format!("{after:?}"),
        ));
    }
}

/// Order and case do not matter to a service manager.
fn compare_lists(changes: &mut Vec<Change>, field: &str, before: &[String], after: &[String]) {
    let folded = |list: &[String]| {
        let mut list: Vec<_> = list.iter().map(|name| name.to_lowercase()).collect();
        list.sort();
        list.dedup();
        list
    };
    if folded(before) != folded(after) {
        changes.push(Change::field(field, before.join(", "), after.join(", ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service() -> Service {
        Service {
            definition: ServiceDefinition {
                name: "kubelet".to_owned(),
                display_name: "kubelet".to_owned(),
                program: vec![r"C:\k\kubelet.exe".to_owned()],
                environment: BTreeMap::new(),
                environment_file: None,
                flags_file: None,
                depends_on: vec!["containerd".to_owned()],
                log_file: None,
                ready: None,
                ready_seconds: 30,
                start: StartType::Automatic,
            },
            run: Run::Running,
            restart_on: Vec::new(),
        }
    }

    fn observed() -> ObservedService {
        let definition = service().definition;
        ObservedService {
            foreign_command: None,
            display_name: definition.display_name.clone(),
            start: definition.start,
            depends_on: vec!["Containerd".to_owned()],
            state: ServiceState::Running,
            definition: Some(definition),
        }
    }

    fn fields(service: &Service, seen: ObservedService, stale: bool) -> Vec<String> {
        let facts = ServiceFacts::Present {
            seen: Box::new(seen),
            stale,
            ready: None,
        };
        match service.diff(&facts) {
            Diff::InSync { .. } => Vec::new(),
            Diff::Changes(changes) => changes.into_iter().map(|change| change.field).collect(),
        }
    }

    #[test]
    fn a_running_service_is_in_sync() {
        assert!(fields(&service(), observed(), false).is_empty());
    }

    #[test]
    fn each_difference_has_its_field() {
        let stopped = ObservedService {
            state: ServiceState::Stopped,
            ..observed()
        };
        assert_eq!(fields(&service(), stopped.clone(), true), ["state"]);
        let mut either = service();
        either.run = Run::Either;
        assert!(fields(&either, stopped, true).is_empty());
        assert_eq!(fields(&service(), observed(), true), ["runs with"]);
        let foreign = ObservedService {
            foreign_command: Some("other.exe".to_owned()),
            definition: None,
            ..observed()
        };
        assert_eq!(fields(&service(), foreign, false), ["command", "program"]);
        let mut split = observed();
        split.definition.as_mut().unwrap().program = vec!["a b".to_owned()];
        let mut wanted = service();
        wanted.definition.program = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(fields(&wanted, split, false), ["program"]);
    }
}
