//! `directory`: a folder, and who may use it.

use serde::{Deserialize, Serialize};

use crate::diff::compare_access;
use crate::{Change, Diff, HostPath, Mode};

/// Who may read and write a path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Access {
    /// Whatever the folder around it gives; never compared.
    #[default]
    Inherited,
    /// SYSTEM and Administrators (root on Linux) and nobody else.
    AdministratorsOnly,
    /// Just this mode; Linux only.
    Mode(Mode),
}

impl Access {
    /// Whether nothing is said about it.
    #[must_use]
    pub fn is_inherited(&self) -> bool {
        *self == Self::Inherited
    }
}

/// Who may use a path, as found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AccessFacts {
    /// Nobody but administrators has any right.
    pub administrators_only: bool,
    /// The owner is SYSTEM, Administrators, the login account or root.
    pub owner_trusted: bool,
    /// All of it in the platform's own notation (SDDL, or `0755 0:0`), from
    /// which the platform can restore it.
    pub descriptor: String,
}

/// A folder that should exist; parents are made as needed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Directory {
    /// Where.
    pub path: HostPath,
    /// Who may use it.
    pub access: Access,
}

/// A folder as found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum DirectoryFacts {
    /// Nothing has this name.
    Absent,
    /// Something that is no folder has this name.
    InTheWay,
    /// It exists.
    Present(AccessFacts),
}

impl Directory {
    /// What is to change.
    #[must_use]
    pub fn diff(&self, facts: &DirectoryFacts) -> Diff {
        match facts {
            DirectoryFacts::Absent => Diff::Changes(vec![Change::missing("exists", "a folder")]),
            DirectoryFacts::InTheWay => {
                Diff::Changes(vec![Change::field("exists", "no folder", "a folder")])
            }
            DirectoryFacts::Present(access) => {
                let mut changes = Vec::new();
                compare_access(&mut changes, self.access, access);
                Diff::from_changes(changes, || match self.access {
                    Access::Inherited => "the folder exists".to_owned(),
                    Access::AdministratorsOnly => {
                        "the folder exists, administrators only".to_owned()
                    }
                    Access::Mode(mode) => format!("the folder exists, mode {mode}"),
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn present(administrators_only: bool) -> DirectoryFacts {
        DirectoryFacts::Present(AccessFacts {
            administrators_only,
            owner_trusted: true,
            descriptor: "0755 0:0".to_owned(),
        })
    }

    #[test]
    fn wide_access_is_narrowed_and_inherited_access_is_left_alone() {
        let wanted = |access| Directory {
            path: "/k".parse().unwrap(),
            access,
        };
        let narrow = wanted(Access::AdministratorsOnly);
        let Diff::Changes(changes) = narrow.diff(&present(false)) else {
            panic!("wide access was taken for narrow");
        };
        assert_eq!(changes[0].field, "access");
        assert!(narrow.diff(&present(true)).is_right());
        assert!(wanted(Access::Inherited).diff(&present(true)).is_right());
        assert!(!narrow.diff(&DirectoryFacts::InTheWay).is_right());
    }
}
