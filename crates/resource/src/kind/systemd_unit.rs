//! `systemdUnit`: a unit that is not casement's own, switched on or off.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Change, Diff, UnitName};

/// What is wanted of a unit. A masked unit cannot run, and one that is on runs
/// after a boot too: other mixtures cannot be said.
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

/// A unit of systemd, made by somebody else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SystemdUnit {
    /// Its name.
    pub name: UnitName,
    /// What is wanted of it.
    pub state: UnitState,
}

/// What a boot does with a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Enablement {
    /// It starts.
    Enabled,
    /// It does not, and could be told to.
    Disabled,
    /// Nothing starts it.
    Masked,
    /// It has no say in it (static, generated): others start it, or not.
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

/// A unit as found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UnitSeen {
    /// What a boot does with it.
    pub enablement: Enablement,
    /// Whether it runs.
    pub running: bool,
}

/// What is known about a unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SystemdUnitFacts {
    /// None if there is no such unit.
    pub seen: Option<UnitSeen>,
}

impl SystemdUnit {
    /// What is to change.
    #[must_use]
    pub fn diff(&self, facts: &SystemdUnitFacts) -> Diff {
        let Some(seen) = facts.seen else {
            return match self.state {
                UnitState::Off => Diff::right("there is no such unit"),
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

    /// What a boot should do with it, where it does something else.
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
        let seen = seen.map(|(enablement, running)| UnitSeen {
            enablement,
            running,
        });
        unit.diff(&SystemdUnitFacts { seen })
    }

    #[test]
    fn both_now_and_the_next_boot_count() {
        use Enablement::{Disabled, Enabled, Fixed, Masked};
        assert_eq!(
            diff(UnitState::On, Some((Enabled, true))),
            Diff::right("enabled and running")
        );
        assert!(!diff(UnitState::On, Some((Enabled, false))).is_right());
        assert!(diff(UnitState::On, Some((Fixed, true))).is_right());
        assert!(!diff(UnitState::On, None).is_right());
        assert!(diff(UnitState::Off, Some((Disabled, false))).is_right());
        assert!(diff(UnitState::Off, Some((Masked, false))).is_right());
        assert!(!diff(UnitState::Off, Some((Disabled, true))).is_right());
        assert!(diff(UnitState::Off, None).is_right());
        assert!(!diff(UnitState::Masked, Some((Fixed, false))).is_right());
        assert!(!diff(UnitState::Masked, None).is_right());
    }
}
