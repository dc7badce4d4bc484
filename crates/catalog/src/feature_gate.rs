//! Feature gates, by release.
//!
//! A gate that a program does not know stops it, and so does a locked gate that is
//! set to the other value: gates are only ever written for a release.

use std::fmt;
use std::sync::LazyLock;

use crate::known::{lines, split};
use crate::minor::Minor;

/// How ripe a feature is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Off unless asked for.
    Alpha,
    /// Tested well.
    Beta,
    /// Done.
    Stable,
    /// On its way out.
    Deprecated,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Alpha => "alpha",
            Self::Beta => "beta",
            Self::Stable => "stable",
            Self::Deprecated => "deprecated",
        })
    }
}

/// What a gate is in a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateState {
    /// How ripe the feature is.
    pub stage: Stage,
    /// Whether it is on when nothing is said.
    pub default: bool,
    /// Whether nothing else can be said.
    pub locked: bool,
}

/// What became of a gate in a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateChange {
    /// The release; none where it was so in the oldest covered one.
    pub at: Option<Minor>,
    /// What it is from there on; none where it is not known any more.
    pub state: Option<GateState>,
}

/// One gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    /// Its name.
    pub name: &'static str,
    /// What became of it, oldest first.
    pub changes: Vec<GateChange>,
    /// Where it says so.
    pub source: &'static str,
}

/// What setting a gate does to a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateSetting {
    /// It changes what the program does.
    Changes,
    /// It says what is so anyway.
    Redundant,
    /// The program stops: the gate is locked to the other value.
    Locked,
    /// The program stops: it knows the gate from this release on.
    NotYet(Minor),
    /// The program stops: from this release on it does not know the gate any more.
    NoLonger(Minor),
}

impl Gate {
    /// What it is in a release; none where it is not known there.
    pub fn state(&self, minor: Minor) -> Option<GateState> {
        let mut past = self.changes.iter().rev();
        past.find(|change| change.at.is_none_or(|at| at <= minor))?
            .state
    }

    /// The first release that knows it; none where the oldest covered one does.
    pub fn added_in(&self) -> Option<Minor> {
        self.changes.first().and_then(|change| change.at)
    }

    /// The first release that does not know it any more.
    pub fn removed_in(&self) -> Option<Minor> {
        let last = self.changes.last().filter(|change| change.state.is_none());
        last.and_then(|change| change.at)
    }

    /// What setting it does to the programs of a release.
    pub fn set(&self, minor: Minor, value: bool) -> GateSetting {
        match (self.state(minor), self.added_in(), self.removed_in()) {
            (Some(state), ..) if state.default == value => GateSetting::Redundant,
            (Some(state), ..) if state.locked => GateSetting::Locked,
            (Some(_), ..) => GateSetting::Changes,
            (None, Some(added), _) if minor < added => GateSetting::NotYet(added),
            (None, _, removed) => GateSetting::NoLonger(removed.unwrap_or(minor)),
        }
    }
}

const SOURCES: &str =
    "kubernetes/kubernetes:pkg/features/kube_features.go and its libraries', v1.21.0 to v1.36.4";

static GATES: LazyLock<Vec<Gate>> = LazyLock::new(|| {
    let lines = lines(include_str!("../data/gates.txt"));
    lines.filter_map(parse).collect()
});

/// `WinDSR  - alpha off, 1.33 beta on, 1.34 ga on locked`
fn parse(line: &'static str) -> Option<Gate> {
    let (words, history) = split(line, 1)?;
    let changes: Option<Vec<GateChange>> = history.split(", ").map(change).collect();
    Some(Gate {
        name: words.first()?,
        changes: changes?,
        source: SOURCES,
    })
}

fn change(text: &str) -> Option<GateChange> {
    let words: Vec<&str> = text.split(' ').collect();
    let at = match *words.first()? {
        "-" => None,
        minor => Some(minor.parse().ok()?),
    };
    let (stage, default, locked) = match words.get(1..)? {
        ["removed"] => return Some(GateChange { at, state: None }),
        [stage, default] => (*stage, *default, false),
        [stage, default, "locked"] => (*stage, *default, true),
        _ => return None,
    };
    let state = GateState {
        stage: match stage {
            "alpha" => Stage::Alpha,
            "beta" => Stage::Beta,
            "ga" => Stage::Stable,
            "deprecated" => Stage::Deprecated,
            _ => return None,
        },
        default: match default {
            "on" => true,
            "off" => false,
            _ => return None,
        },
        locked,
    };
    Some(GateChange {
        at,
        state: Some(state),
    })
}

/// All gates, by name.
pub fn gates() -> &'static [Gate] {
    &GATES
}

/// A gate by its name.
pub fn gate(name: &str) -> Option<&'static Gate> {
    GATES.iter().find(|gate| gate.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_read_and_goes_forward() {
        let count = lines(include_str!("../data/gates.txt")).count();
        assert_eq!(gates().len(), count);
        assert!(count > 400);
        for gate in gates() {
            let releases: Vec<_> = gate.changes.iter().map(|change| change.at).collect();
            assert!(releases.is_sorted_by(|one, next| one < next), "{gate:?}");
        }
    }

    #[test]
    fn gates_that_bite_are_known_in_their_time_only() {
        let set = |name, minor, value| gate(name).map(|gate| gate.set(Minor::new(minor), value));
        let dsr = |minor, value| set("WinDSR", minor, value).unwrap();
        assert_eq!(dsr(32, true), GateSetting::Changes);
        assert_eq!(dsr(33, true), GateSetting::Redundant);
        assert_eq!(dsr(33, false), GateSetting::Changes);
        assert_eq!(dsr(34, false), GateSetting::Locked);
        let host_process = |minor| set("WindowsHostProcessContainers", minor, true).unwrap();
        assert_eq!(host_process(21), GateSetting::NotYet(Minor::new(22)));
        assert_eq!(host_process(27), GateSetting::Redundant);
        assert_eq!(host_process(28), GateSetting::NoLonger(Minor::new(28)));
        let dual_stack = |minor| set("IPv6DualStack", minor, false).unwrap();
        assert_eq!(dual_stack(22), GateSetting::Changes);
        assert_eq!(dual_stack(23), GateSetting::Locked);
        assert_eq!(dual_stack(27), GateSetting::NoLonger(Minor::new(27)));
        assert_eq!(
            gate("WindowsGracefulNodeShutdown").unwrap().added_in(),
            Some(Minor::new(32))
        );
        assert_eq!(gate("NoSuchGate"), None);
    }
}
