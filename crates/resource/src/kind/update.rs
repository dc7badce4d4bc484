//! `windowsUpdate`: an update that this Windows should have.

use serde::{Deserialize, Serialize};

use crate::{Change, Diff, HostPath, WindowsVersion};

/// An update that this Windows should have, or a later one that contains it.
///
/// Without a package, a host that lacks it is a finding: when to update a
/// server is its people's decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WindowsUpdate {
    /// Its article (`KB5012637`).
    pub article: String,
    /// From which revision on the builds of Windows contain it. Empty where
    /// that is not known: then what the installer said counts.
    pub floors: Vec<UpdateFloor>,
    /// The `.msu` file on the host that brings it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<HostPath>,
    /// For how long the installer may work.
    pub timeout_seconds: u32,
}

/// The first revision of a build that contains an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateFloor {
    /// The build.
    pub build: u32,
    /// The revision (UBR).
    pub revision: u32,
}

/// A host's updates as found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WindowsUpdateFacts {
    /// The version of Windows.
    pub version: String,
    /// What the installer has left.
    pub installed: UpdateInstalled,
}

/// What became of the installer's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum UpdateInstalled {
    /// casement has not installed it.
    Not,
    /// It is there after the next boot.
    AfterBoot,
    /// It is there, as far as the installer knows.
    Done,
}

impl WindowsUpdate {
    /// The floor of the host's own build.
    #[must_use]
    pub fn floor(&self, version: WindowsVersion) -> Option<UpdateFloor> {
        let mut floors = self.floors.iter().copied();
        floors.find(|floor| floor.build == version.build)
    }

    /// What is to change. What waits for a boot only is right: a `reboot` that
    /// comes after it sees to that.
    #[must_use]
    pub fn diff(&self, facts: &WindowsUpdateFacts) -> Diff {
        let (article, version) = (&self.article, &facts.version);
        if facts.installed == UpdateInstalled::AfterBoot {
            return Diff::right(format!("{article} is there after the next boot"));
        }
        let Some(read) = WindowsVersion::read(version) else {
            return Diff::Changes(vec![Change::missing("update", article)]);
        };
        match self.floor(read) {
            Some(floor) if read.revision >= floor.revision => {
                Diff::right(format!("{version} contains {article}"))
            }
            Some(floor) => {
                let wanted = WindowsVersion {
                    revision: floor.revision,
                    ..read
                };
                Diff::Changes(vec![Change::field("version", version, wanted)])
            }
            None if !self.floors.is_empty() => {
                Diff::right(format!("{article} is for other builds than {}", read.build))
            }
            None if facts.installed == UpdateInstalled::Done => {
                Diff::right(format!("{article} was installed"))
            }
            None => Diff::Changes(vec![Change::missing("update", article)]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn right(floors: &[(u32, u32)], version: &str, installed: UpdateInstalled) -> bool {
        let floors = floors.iter();
        let update = WindowsUpdate {
            article: "KB5012637".to_owned(),
            floors: floors
                .map(|&(build, revision)| UpdateFloor { build, revision })
                .collect(),
            package: None,
            timeout_seconds: 60,
        };
        let version = version.to_owned();
        update
            .diff(&WindowsUpdateFacts { version, installed })
            .is_right()
    }

    #[test]
    fn a_later_revision_contains_it() {
        use UpdateInstalled::{AfterBoot, Done, Not};
        let floors = [(20348, 681)];
        assert!(right(&floors, "10.0.20348.681", Not));
        assert!(right(&floors, "10.0.20348.3807", Not));
        assert!(!right(&floors, "10.0.20348.680", Not));
        // What Windows says counts, not what was tried.
        assert!(!right(&floors, "10.0.20348.680", Done));
        assert!(right(&floors, "10.0.20348.680", AfterBoot));
        assert!(right(&floors, "10.0.26100.1", Not), "another build");
    }

    #[test]
    fn where_no_revision_is_known_the_installer_is_believed() {
        use UpdateInstalled::{Done, Not};
        assert!(!right(&[], "10.0.20348.681", Not));
        assert!(right(&[], "10.0.20348.681", Done));
    }
}
