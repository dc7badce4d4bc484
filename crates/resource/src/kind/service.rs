//! `service`: a program that the operating system keeps running.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::diff::compare;
use crate::{Change, Condition, Diff, HostPath, ResourceId};

/// How long a program that ended rests before it is started again, at first.
pub const RESTART_FIRST_SECONDS: u64 = 1;
/// The pause doubles from one end to the next, up to this (Windows; systemd keeps
/// the first).
pub const RESTART_LONGEST_SECONDS: u64 = 60;

/// When the operating system starts a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StartType {
    /// At boot.
    Automatic,
    /// When asked.
    Manual,
    /// Never: only found.
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

/// Whether a service should run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Run {
    /// It should.
    Running,
    /// Somebody else decides (kubeadm starts the kubelet).
    Either,
}

/// What a service is. `casement-node host NAME` reads it, as JSON, from the
/// state folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServiceDefinition {
    /// Its name to the operating system.
    pub name: String,
    /// Its name to people.
    pub display_name: String,
    /// The program and its arguments; never empty.
    pub program: Vec<String>,
    /// Variables added to the environment of the service host.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// A file of more of them, a line `NAME=value` each, read at each start: for
    /// values that no document may hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment_file: Option<HostPath>,
    /// A file in the form of kubeadm's `kubeadm-flags.env`, read at each start:
    /// its arguments come after those of `program`. It may be absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flags_file: Option<HostPath>,
    /// Services that must be ready before this one starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// Where its output goes; rotated by the service host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_file: Option<HostPath>,
    /// When dependants may start; none: as soon as it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<Condition>,
    /// How long it may take from start to ready.
    pub ready_seconds: u32,
    /// When the operating system starts it.
    pub start: StartType,
}

/// A service that should be there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Service {
    /// What it is.
    pub definition: ServiceDefinition,
    /// Whether it should run.
    pub run: Run,
    /// Steps (files, artifacts) after whose change a running service is
    /// started anew.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restart_on: Vec<ResourceId>,
}

/// What a service is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ServiceState {
    /// It runs.
    Running,
    /// It does not.
    Stopped,
    /// It is on its way to one of the two.
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

/// A service as the operating system knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServiceSeen {
    /// What casement defined under this name; none for a foreign service.
    pub definition: Option<ServiceDefinition>,
    /// The command line that the operating system starts, if it is not
    /// casement's service host for this name (of whatever agent version).
    pub foreign_command: Option<String>,
    /// The display name that is registered.
    pub display_name: String,
    /// The start type that is registered.
    pub start: StartType,
    /// The dependencies that are registered.
    pub depends_on: Vec<String>,
    /// What it is doing.
    pub state: ServiceState,
}

/// A service as found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum ServiceFacts {
    /// No service has this name.
    Absent,
    /// It exists.
    Present {
        /// As the operating system knows it.
        seen: Box<ServiceSeen>,
        /// One of `restart_on` has changed since it was last started.
        stale: bool,
        /// Whether the wanted `ready` condition holds; none if there is none,
        /// or if the service does not run.
        ready: Option<bool>,
    },
}

impl Service {
    /// What is to change.
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
                "what was there before",
                "what is there now",
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
    /// What differs from the service that is registered; changing any of it
    /// needs a restart.
    #[must_use]
    pub fn diff(&self, seen: &ServiceSeen) -> Vec<Change> {
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
        // The joined text may hide a difference (`a b` against `a`, `b`).
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

    fn seen() -> ServiceSeen {
        let definition = service().definition;
        ServiceSeen {
            foreign_command: None,
            display_name: definition.display_name.clone(),
            start: definition.start,
            depends_on: vec!["Containerd".to_owned()],
            state: ServiceState::Running,
            definition: Some(definition),
        }
    }

    fn fields(service: &Service, seen: ServiceSeen, stale: bool) -> Vec<String> {
        let facts = ServiceFacts::Present {
            seen: Box::new(seen),
            stale,
            ready: None,
        };
        match service.diff(&facts) {
            Diff::Right { .. } => Vec::new(),
            Diff::Changes(changes) => changes.into_iter().map(|change| change.field).collect(),
        }
    }

    #[test]
    fn a_running_service_is_right() {
        assert!(fields(&service(), seen(), false).is_empty());
    }

    #[test]
    fn each_difference_has_its_field() {
        let stopped = ServiceSeen {
            state: ServiceState::Stopped,
            ..seen()
        };
        assert_eq!(fields(&service(), stopped.clone(), true), ["state"]);
        let mut either = service();
        either.run = Run::Either;
        assert!(fields(&either, stopped, true).is_empty());
        assert_eq!(fields(&service(), seen(), true), ["runs with"]);
        let foreign = ServiceSeen {
            foreign_command: Some("other.exe".to_owned()),
            definition: None,
            ..seen()
        };
        assert_eq!(fields(&service(), foreign, false), ["command", "program"]);
        let mut split = seen();
        split.definition.as_mut().unwrap().program = vec!["a b".to_owned()];
        let mut wanted = service();
        wanted.definition.program = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(fields(&wanted, split, false), ["program"]);
    }
}
