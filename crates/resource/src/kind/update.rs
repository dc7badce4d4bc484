//! `windowsUpdate`: an update that should be installed.

use serde::{Deserialize, Serialize};

use crate::{Change, Diff, HostPath, WindowsVersion};

/// A later update that contains it also counts.
///
/// Without a package, a missing update is only reported: the user decides when to update
/// a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WindowsUpdate {
    /// The KB article (`KB5012637`).
    pub article: String,
    /// The first revision of each build that contains it. Empty if unknown: then the
    /// installer's result counts.
    pub floors: Vec<UpdateFloor>,
    /// The `.msu` file on the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<HostPath>,
    /// Limit for the installer.
    pub timeout_seconds: u32,
}

/// The first revision of a build that contains an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateFloor {
    pub build: u32,
    /// The revision (UBR).
    pub revision: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WindowsUpdateFacts {
    pub version: String,
    /// The installer's state.
    pub installed: UpdateInstalled,
}

/// The installer's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum UpdateInstalled {
    /// Not installed by casement.
    Not,
    /// On after the next boot.
    AfterBoot,
    /// The installer reported success.
    Done,
}

impl WindowsUpdate {
    /// The floor for the host's build.
    #[must_use]
    pub fn floor(&self, version: WindowsVersion) -> Option<UpdateFloor> {
        let mut floors = self.floors.iter().copied();
        floors.find(|floor| floor.build == version.build)
    }

    /// An update that only waits for a boot is in sync: a later `reboot` step handles it.
    #[must_use]
    pub fn diff(&self, facts: &WindowsUpdateFacts) -> Diff {
        let (article, version) = (&self.article, &facts.version);
        if facts.installed == UpdateInstalled::AfterBoot {
            return Diff::unchanged(format!("{article} is installed after the next reboot"));
        }
        let Some(read) = WindowsVersion::read(version) else {
            return Diff::Changes(vec![Change::missing("update", article)]);
        };
        match self.floor(read) {
            Some(floor) if read.revision >= floor.revision => {
                Diff::unchanged(format!("{version} contains {article}"))
            }
            Some(floor) => {
                let wanted = WindowsVersion {
                    revision: floor.revision,
                    ..read
                };
                Diff::Changes(vec![Change::field("version", version, wanted)])
            }
            None if !self.floors.is_empty() => {
                Diff::unchanged(format!("{article} does not apply to build {}", read.build))
            }
            None if facts.installed == UpdateInstalled::Done => {
                Diff::unchanged(format!("{article} was installed"))
            }
            None => Diff::Changes(vec![Change::missing("update", article)]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_sync(floors: &[(u32, u32)], version: &str, installed: UpdateInstalled) -> bool {
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
            .in_sync()
    }

    #[test]
    fn a_later_revision_contains_it() {
        use UpdateInstalled::{AfterBoot, Done, Not};
        let floors = [(20348, 681)];
        assert!(in_sync(&floors, "10.0.20348.681", Not));
        assert!(in_sync(&floors, "10.0.20348.3807", Not));
        assert!(!in_sync(&floors, "10.0.20348.680", Not));
        // The reported version counts, not the installer's result.
        assert!(!in_sync(&floors, "10.0.20348.680", Done));
        assert!(in_sync(&floors, "10.0.20348.680", AfterBoot));
        assert!(in_sync(&floors, "10.0.26100.1", Not), "another build");
    }

    #[test]
    fn without_known_revisions_the_installer_result_counts() {
        use UpdateInstalled::{Done, Not};
        assert!(!in_sync(&[], "10.0.20348.681", Not));
        assert!(in_sync(&[], "10.0.20348.681", Done));
    }
}
