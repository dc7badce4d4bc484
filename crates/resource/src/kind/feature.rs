//! `windowsFeature`: an optional part of Windows.

use serde::{Deserialize, Serialize};

use crate::{Change, Diff};

/// A part of Windows that should be there, or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WindowsFeature {
    /// Its name to DISM (`Containers`).
    pub name: String,
    /// Whether it should be there.
    pub present: bool,
}

/// A feature as found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WindowsFeatureFacts {
    /// This Windows has no such feature.
    Unknown,
    /// It is not there.
    Off,
    /// It is there until the next boot.
    OffAfterBoot,
    /// It is there.
    On,
    /// It is there after the next boot.
    OnAfterBoot,
}

impl WindowsFeatureFacts {
    /// Whether it is there, or will be after the next boot.
    #[must_use]
    pub fn is_to_be_present(self) -> bool {
        matches!(self, Self::On | Self::OnAfterBoot)
    }
}

impl WindowsFeature {
    /// What is to change. What waits for a boot only is right: a `reboot` that
    /// comes after it sees to that.
    #[must_use]
    pub fn diff(&self, facts: WindowsFeatureFacts) -> Diff {
        use WindowsFeatureFacts::{Off, OffAfterBoot, On, OnAfterBoot, Unknown};
        match (facts, self.present) {
            (On, true) => Diff::right("on"),
            (OnAfterBoot, true) => Diff::right("on after the next boot"),
            (Off, false) => Diff::right("off"),
            (OffAfterBoot, false) => Diff::right("off after the next boot"),
            (Unknown, false) => Diff::right("this Windows has no such feature"),
            (Unknown, true) => Diff::Changes(vec![Change::missing("feature", "on")]),
            (Off | OffAfterBoot, true) => {
                Diff::Changes(vec![Change::field("feature", "off", "on")])
            }
            (On | OnAfterBoot, false) => Diff::Changes(vec![Change::field("feature", "on", "off")]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_waits_for_a_boot_is_right() {
        use WindowsFeatureFacts::{Off, OffAfterBoot, On, OnAfterBoot, Unknown};
        let right = |present, facts| {
            let name = "Containers".to_owned();
            WindowsFeature { name, present }.diff(facts).is_right()
        };
        let all = [On, OnAfterBoot, Off, OffAfterBoot, Unknown];
        let wanted = all.map(|facts| right(true, facts));
        assert_eq!(wanted, [true, true, false, false, false]);
        let unwanted = all.map(|facts| right(false, facts));
        assert_eq!(unwanted, [false, false, true, true, true]);
    }
}
