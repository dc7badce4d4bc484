//! `package`: a distribution package, installed or absent.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Change, Diff, PackageName, PackageVersion};

/// The desired state of a package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum PackageState {
    /// Installed in any version.
    Installed,
    /// Installed in exactly this version.
    Version(PackageVersion),
    /// Not installed.
    Absent,
}

impl fmt::Display for PackageState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Installed => formatter.write_str("installed"),
            Self::Version(version) => write!(formatter, "{version}"),
            Self::Absent => formatter.write_str("not installed"),
        }
    }
}

/// Managed with the system's package manager. Dependencies that it installs stay when
/// the package is removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Package {
    pub name: PackageName,
    pub state: PackageState,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PackageFacts {
    /// None if not completely installed.
    pub version: Option<PackageVersion>,
}

impl Package {
    #[must_use]
    pub fn diff(&self, facts: &PackageFacts) -> Diff {
        match (&self.state, &facts.version) {
            (PackageState::Absent, None) => Diff::unchanged("not installed"),
            (PackageState::Installed, Some(found)) => {
                Diff::unchanged(format!("{found} is installed"))
            }
            (PackageState::Version(wanted), Some(found)) if found == wanted => {
                Diff::unchanged(format!("{found} is installed"))
            }
            (wanted, None) => Diff::Changes(vec![Change::missing("package", wanted)]),
            (wanted, Some(found)) => Diff::Changes(vec![Change::field("package", found, wanted)]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_counts_only_if_one_is_specified() {
        let package = |state| Package {
            name: "conntrack".parse().unwrap(),
            state,
        };
        let found = |version: &str| PackageFacts {
            version: Some(version.parse().unwrap()),
        };
        let none = PackageFacts { version: None };
        let exact = package(PackageState::Version("1:1.4.7-1".parse().unwrap()));
        assert!(exact.diff(&found("1:1.4.7-1")).in_sync());
        assert!(!exact.diff(&found("1:1.4.6-2")).in_sync());
        assert!(!exact.diff(&none).in_sync());
        let any = package(PackageState::Installed);
        assert!(any.diff(&found("1:1.4.6-2")).in_sync());
        assert!(!any.diff(&none).in_sync());
        let absent = package(PackageState::Absent);
        assert_eq!(absent.diff(&none), Diff::unchanged("not installed"));
        let Diff::Changes(changes) = absent.diff(&found("2")) else {
            panic!("an installed package counts as absent");
        };
        assert_eq!(changes[0].to_string(), "package: 2 → not installed");
    }
}
