//! `systemdUnit`: enables, disables or masks a unit that casement did not create.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Change, Diff, UnitName};

/// The desired state. A masked unit cannot run, and a unit that is on also starts at
/// boot; other combinations are not supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum UnitState {
    /// Enabled and running.
    On,
    /// Disabled and stopped; another unit may still start it.
    Off,
    /// Masked and stopped: nothing starts it.
    Masked,
}

/// A systemd unit that casement did not create.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SystemdUnit {
    pub name: UnitName,
    pub state: UnitState,
}

/// Whether a unit starts at boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Enablement {
    /// It starts at boot.
    Enabled,
    /// It does not start at boot.
    Disabled,
    /// It cannot be started.
    Masked,
    /// Neither enabled nor disabled (static, generated).
    Fixed,
}

impl fmt::Display for Enablement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Enabled => "enabled",
            Self::Disabled => "disabled",
            Self::Masked => "masked",
            Self::Fixed => "static",
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObservedUnit {
    /// Whether it starts at boot.
    pub enablement: Enablement,
    pub running: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SystemdUnitFacts {
    /// None if the unit does not exist.
    #[serde(rename = "seen")]
    pub observed: Option<ObservedUnit>,
}

impl SystemdUnit {
    #[must_use]
    pub fn diff(&self, facts: &SystemdUnitFacts) -> Diff {
        let Some(seen) = facts.observed else {
            return match self.state {
                UnitState::Off => Diff::unchanged("the unit does not exist"),
                UnitState::On => Diff::Changes(vec![Change::missing("unit", "enabled")]),
                UnitState::Masked => Diff::Changes(vec![Change::missing("unit", "masked")]),
            };
        };
        let mut changes = Vec::new();
        if let Some(wanted) = self.enablement(seen.enablement) {
            changes.push(Change::field("enablement", seen.enablement, wanted));
        }
        let word = |running| if running { "running" } else { "stopped" };
        let wanted = self.state == UnitState::On;
        if seen.running != wanted {
            changes.push(Change::field("state", word(seen.running), word(wanted)));
        }
        Diff::from_changes(changes, || {
            format!("{} and {}", seen.enablement, word(seen.running))
        })
    }

    /// The enablement to set; none if in sync.
    #[must_use]
    pub fn enablement(&self, found: Enablement) -> Option<Enablement> {
        use Enablement::{Disabled, Enabled, Fixed, Masked};
        match (self.state, found) {
            (UnitState::On, Enabled | Fixed)
            | (UnitState::Off, Disabled | Masked | Fixed)
            | (UnitState::Masked, Masked) => None,
            (UnitState::On, _) => Some(Enabled),
            (UnitState::Off, _) => Some(Disabled),
            (UnitState::Masked, _) => Some(Masked),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(state: UnitState, seen: Option<(Enablement, bool)>) -> Diff {
        let unit = SystemdUnit {
            name: "apparmor.service".parse().unwrap(),
            state,
        };
        let seen = seen.map(|(enablement, running)| ObservedUnit {
            enablement,
            running,
        });
        unit.diff(&SystemdUnitFacts { observed: seen })
    }

    #[test]
    fn running_state_and_enablement_count() {
        use Enablement::{Disabled, Enabled, Fixed, Masked};
        assert_eq!(
            diff(UnitState::On, Some((Enabled, true))),
            Diff::unchanged("enabled and running")
        );
        assert!(!diff(UnitState::On, Some((Enabled, false))).in_sync());
        assert!(diff(UnitState::On, Some((Fixed, true))).in_sync());
        assert!(!diff(UnitState::On, None).in_sync());
        assert!(diff(UnitState::Off, Some((Disabled, false))).in_sync());
        assert!(diff(UnitState::Off, Some((Masked, false))).in_sync());
        assert!(!diff(UnitState::Off, Some((Disabled, true))).in_sync());
        assert!(diff(UnitState::Off, None).in_sync());
        assert!(!diff(UnitState::Masked, Some((Fixed, false))).in_sync());
        assert!(!diff(UnitState::Masked, None).in_sync());
    }
}
