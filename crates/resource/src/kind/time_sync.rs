//! `timeSync`: the host's time servers.

use serde::{Deserialize, Serialize};

use crate::diff::compare;
use crate::{Change, Diff, ServiceState, StartType};

/// Certificates are not valid on a host whose clock is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TimeSync {
    /// Host names or addresses.
    pub servers: Vec<String>,
}

/// The source type of the Windows time service.
pub const NTP: &str = "NTP";

impl TimeSync {
    /// In the format of the Windows time service, with client mode (0x8).
    #[must_use]
    pub fn ntp_servers(&self) -> String {
        let servers = self.servers.iter().map(|server| format!("{server},0x8"));
        servers.collect::<Vec<_>>().join(" ")
    }

    #[must_use]
    pub fn diff(&self, facts: &TimeSyncFacts) -> Diff {
        if let Some(domain) = &facts.domain {
            return Diff::unchanged(format!("time is synchronized by the domain {domain}"));
        }
        let mut changes = Vec::new();
        for (field, found, wanted) in [
            ("servers", &facts.servers, self.ntp_servers()),
            ("source", &facts.source, NTP.to_owned()),
        ] {
            match found {
                None => changes.push(Change::missing(field, wanted)),
                Some(found) => compare(&mut changes, field, found, &wanted),
            }
        }
        compare(&mut changes, "start", &facts.start, &StartType::Automatic);
        compare(&mut changes, "state", &facts.state, &ServiceState::Running);
        Diff::from_changes(changes, || {
            format!("synchronized with {}", self.servers.join(", "))
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TimeSyncFacts {
    /// The Active Directory domain of the host.
    pub domain: Option<String>,
    /// The servers, verbatim.
    pub servers: Option<String>,
    /// `NTP`, `NT5DS` (the domain) or `NoSync`.
    pub source: Option<String>,
    pub start: StartType,
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

    fn in_sync(facts: &TimeSyncFacts) -> bool {
        let servers = vec!["a".to_owned(), "b".to_owned()];
        TimeSync { servers }.diff(facts).in_sync()
    }

    #[test]
    fn the_service_must_run_and_use_the_servers() {
        assert!(in_sync(&facts()));
        let servers = Some("a,0x8".to_owned());
        assert!(!in_sync(&TimeSyncFacts { servers, ..facts() }));
        let source = Some("NoSync".to_owned());
        assert!(!in_sync(&TimeSyncFacts { source, ..facts() }));
        let start = StartType::Manual;
        assert!(!in_sync(&TimeSyncFacts { start, ..facts() }));
        let state = ServiceState::Stopped;
        assert!(!in_sync(&TimeSyncFacts { state, ..facts() }));
    }

    #[test]
    fn domain_members_are_in_sync() {
        let facts = TimeSyncFacts {
            domain: Some("corp".to_owned()),
            servers: None,
            ..facts()
        };
        assert!(in_sync(&facts));
    }
}
