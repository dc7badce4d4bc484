//! `windowsFeature`: an optional Windows feature.

use serde::{Deserialize, Serialize};

use crate::{Change, Diff};

/// A Windows feature that should be on or off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WindowsFeature {
    /// DISM's name (`Containers`).
    pub name: String,
    pub present: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WindowsFeatureFacts {
    /// This Windows version does not have the feature.
    Unknown,
    Off,
    /// Off after the next boot.
    OffAfterBoot,
    On,
    /// On after the next boot.
    OnAfterBoot,
}

impl WindowsFeatureFacts {
    /// Whether it is on, or will be after the next boot.
    #[must_use]
    pub fn is_present_after_boot(self) -> bool {
        matches!(self, Self::On | Self::OnAfterBoot)
    }
}

impl WindowsFeature {
    /// A change that only waits for a boot is in sync: a later `reboot` step handles it.
    #[must_use]
    pub fn diff(&self, facts: WindowsFeatureFacts) -> Diff {
        use WindowsFeatureFacts::{Off, OffAfterBoot, On, OnAfterBoot, Unknown};
        match (facts, self.present) {
            (On, true) => Diff::unchanged("on"),
            (OnAfterBoot, true) => Diff::unchanged("on after the next reboot"),
            (Off, false) => Diff::unchanged("off"),
            (OffAfterBoot, false) => Diff::unchanged("off after the next reboot"),
            (Unknown, false) => Diff::unchanged("this Windows version does not have the feature"),
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
    fn a_change_that_waits_for_a_boot_is_in_sync() {
        use WindowsFeatureFacts::{Off, OffAfterBoot, On, OnAfterBoot, Unknown};
        let in_sync = |present, facts| {
            let name = "Containers".to_owned();
            WindowsFeature { name, present }.diff(facts).in_sync()
        };
        let all = [On, OnAfterBoot, Off, OffAfterBoot, Unknown];
        let wanted = all.map(|facts| in_sync(true, facts));
        assert_eq!(wanted, [true, true, false, false, false]);
        let unwanted = all.map(|facts| in_sync(false, facts));
        assert_eq!(unwanted, [false, false, true, true, true]);
    }
}
