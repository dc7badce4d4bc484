//! `package`: a package of the distribution, installed or not.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Change, Diff, PackageName, PackageVersion};

/// What is wanted of a package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum PackageState {
    /// There, in whichever version.
    Installed,
    /// There, in exactly this version.
    Version(PackageVersion),
    /// Not there.
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

/// A package, by the system's own package manager. What else that one brings
/// along is its affair, and stays when the package goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Package {
    /// Its name.
    pub name: PackageName,
    /// What is wanted of it.
    pub state: PackageState,
}

/// A package as found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PackageFacts {
    /// The version that is installed, whole; none if none is.
    pub version: Option<PackageVersion>,
}

impl Package {
    /// What is to change.
    #[must_use]
    pub fn diff(&self, facts: &PackageFacts) -> Diff {
        match (&self.state, &facts.version) {
            (PackageState::Absent, None) => Diff::right("not installed"),
            (PackageState::Installed, Some(found)) => Diff::right(format!("{found} is installed")),
            (PackageState::Version(wanted), Some(found)) if found == wanted => {
                Diff::right(format!("{found} is installed"))
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
    fn a_version_counts_only_where_one_is_wanted() {
        let package = |state| Package {
            name: "conntrack".parse().unwrap(),
            state,
        };
        let found = |version: &str| PackageFacts {
            version: Some(version.parse().unwrap()),
        };
        let none = PackageFacts { version: None };
        let exact = package(PackageState::Version("1:1.4.7-1".parse().unwrap()));
        assert!(exact.diff(&found("1:1.4.7-1")).is_right());
        assert!(!exact.diff(&found("1:1.4.6-2")).is_right());
        assert!(!exact.diff(&none).is_right());
        let any = package(PackageState::Installed);
        assert!(any.diff(&found("1:1.4.6-2")).is_right());
        assert!(!any.diff(&none).is_right());
        let gone = package(PackageState::Absent);
        assert_eq!(gone.diff(&none), Diff::right("not installed"));
        let Diff::Changes(changes) = gone.diff(&found("2")) else {
            panic!("a package that is there was taken for absent");
        };
        assert_eq!(changes[0].to_string(), "package: 2 → not installed");
    }
}
