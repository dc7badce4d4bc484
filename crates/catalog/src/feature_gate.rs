//! Feature gates by release.
//!
//! A program exits if a gate is unknown, or locked to the other value: gates must
//! match the release.

use std::fmt;
use std::sync::LazyLock;

use crate::known::{lines, split};
use crate::minor::Minor;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    Alpha,
    Beta,
    Stable,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateState {
    pub stage: Stage,
    pub default: bool,
    pub locked: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateChange {
    /// `None`: already so in the oldest covered release.
    pub at: Option<Minor>,
    /// `None`: removed.
    pub state: Option<GateState>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureGate {
    pub name: &'static str,
    pub changes: Vec<GateChange>,
    pub source: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateSetting {
    Changes,
    /// The value is the default.
    Redundant,
    /// The program exits: the gate is locked to the other value.
    Locked,
    /// The program exits: the gate was added in this release.
    NotYet(Minor),
    /// The program exits: the gate was removed in this release.
    NoLonger(Minor),
}

impl FeatureGate {
    /// `None` if the release does not have the gate.
    pub fn state(&self, minor: Minor) -> Option<GateState> {
        let mut past = self.changes.iter().rev();
        past.find(|change| change.at.is_none_or(|at| at <= minor))?
            .state
    }

    /// `None` if the oldest covered release has the gate.
    pub fn added_in(&self) -> Option<Minor> {
        self.changes.first().and_then(|change| change.at)
    }

    pub fn removed_in(&self) -> Option<Minor> {
        let last = self.changes.last().filter(|change| change.state.is_none());
        last.and_then(|change| change.at)
    }

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
    "kubernetes/kubernetes:pkg/features/kube_features.go and its libraries, v1.21.0 to v1.36.4";

static GATES: LazyLock<Vec<FeatureGate>> = LazyLock::new(|| {
    let lines = lines(include_str!("../data/gates.txt"));
    lines.filter_map(parse).collect()
});

/// `WinDSR  - alpha off, 1.33 beta on, 1.34 ga on locked`
fn parse(line: &'static str) -> Option<FeatureGate> {
    let (words, history) = split(line, 1)?;
    let changes: Option<Vec<GateChange>> = history.split(", ").map(change).collect();
    Some(FeatureGate {
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

pub fn feature_gates() -> &'static [FeatureGate] {
    &GATES
}

pub fn feature_gate(name: &str) -> Option<&'static FeatureGate> {
    GATES.iter().find(|gate| gate.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_parsed_and_in_order() {
        let count = lines(include_str!("../data/gates.txt")).count();
        assert_eq!(feature_gates().len(), count);
        assert!(count > 400);
        for gate in feature_gates() {
            let releases: Vec<_> = gate.changes.iter().map(|change| change.at).collect();
            assert!(releases.is_sorted_by(|one, next| one < next), "{gate:?}");
        }
    }

    #[test]
    fn gate_settings_depend_on_the_release() {
        let set =
            |name, minor, value| feature_gate(name).map(|gate| gate.set(Minor::new(minor), value));
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
            feature_gate("WindowsGracefulNodeShutdown")
                .unwrap()
                .added_in(),
            Some(Minor::new(32))
        );
        assert_eq!(feature_gate("NoSuchGate"), None);
    }
}
