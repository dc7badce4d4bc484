//! `timeSync`: where the host's clock is set from.

use serde::{Deserialize, Serialize};

use crate::diff::compare;
use crate::{Change, Diff, ServiceState, StartType};

/// Servers that the host's clock should be set from: a certificate is no good
/// on a host that is in another hour.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TimeSync {
    /// Their names or addresses.
    pub servers: Vec<String>,
}

/// What Windows' time service is told.
pub const NTP: &str = "NTP";

impl TimeSync {
    /// The servers as Windows' time service has them: each asked as a client.
    #[must_use]
    pub fn written(&self) -> String {
        let servers = self.servers.iter().map(|server| format!("{server},0x8"));
        servers.collect::<Vec<_>>().join(" ")
    }

    /// What is to change.
    #[must_use]
    pub fn diff(&self, facts: &TimeSyncFacts) -> Diff {
        if let Some(domain) = &facts.domain {
            return Diff::right(format!(
                "a member of the domain {domain} has its time from there"
            ));
        }
        let mut changes = Vec::new();
        for (field, found, wanted) in [
            ("servers", &facts.servers, self.written()),
            ("source", &facts.source, NTP.to_owned()),
        ] {
            match found {
                None => changes.push(Change::missing(field, wanted)),
                Some(found) => compare(&mut changes, field, found, &wanted),
            }
        }
        compare(&mut changes, "start", &facts.start, &StartType::Automatic);
        compare(&mut changes, "state", &facts.state, &ServiceState::Running);
        Diff::from_changes(changes, || format!("set from {}", self.servers.join(", ")))
    }
}

/// Windows' time service as found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TimeSyncFacts {
    /// The domain that the host is a member of.
    pub domain: Option<String>,
    /// The servers, as written.
    pub servers: Option<String>,
    /// Where it has the time from: `NTP`, `NT5DS` (the domain), `NoSync`.
    pub source: Option<String>,
    /// When the service starts.
    pub start: StartType,
    /// What the service does.
    pub state: ServiceState,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> TimeSyncFacts {
        TimeSyncFacts {
            domain: None,
            servers: Some("a,0x8 b,0x8".to_owned()),
            source: Some("NTP".to_owned()),
            start: StartType::Automatic,
            state: ServiceState::Running,
        }
    }

    fn right(facts: &TimeSyncFacts) -> bool {
        let servers = vec!["a".to_owned(), "b".to_owned()];
        TimeSync { servers }.diff(facts).is_right()
    }

    #[test]
    fn servers_count_only_for_a_service_that_runs_and_asks_them() {
        assert!(right(&facts()));
        let servers = Some("a,0x8".to_owned());
        assert!(!right(&TimeSyncFacts { servers, ..facts() }));
        let source = Some("NoSync".to_owned());
        assert!(!right(&TimeSyncFacts { source, ..facts() }));
        let start = StartType::Manual;
        assert!(!right(&TimeSyncFacts { start, ..facts() }));
        let state = ServiceState::Stopped;
        assert!(!right(&TimeSyncFacts { state, ..facts() }));
    }

    #[test]
    fn a_member_of_a_domain_is_left_to_it() {
        let facts = TimeSyncFacts {
            domain: Some("corp".to_owned()),
            servers: None,
            ..facts()
        };
        assert!(right(&facts));
    }
}
