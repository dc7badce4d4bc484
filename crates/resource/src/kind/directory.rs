//! `directory`: a folder and its access.

use serde::{Deserialize, Serialize};

use crate::diff::compare_access;
use crate::{Change, Diff, HostPath, Mode};

/// The access of a path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Access {
    /// Inherited from the parent folder; never compared.
    #[default]
    Inherited,
    /// Only SYSTEM and Administrators (root on Linux).
    AdministratorsOnly,
    /// Exactly this mode; Linux only.
    Mode(Mode),
}

impl Access {
    /// Used to skip serialization.
    #[must_use]
    pub fn is_inherited(&self) -> bool {
        *self == Self::Inherited
    }
}

/// The observed access of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AccessFacts {
    /// Only administrators have access.
    pub administrators_only: bool,
    /// The owner is SYSTEM, Administrators, the login account or root.
    pub owner_trusted: bool,
    /// In platform notation (SDDL, or `0755 0:0`), from which it can be restored.
    pub descriptor: String,
}

/// Missing parent folders are created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Directory {
    pub path: HostPath,
    pub access: Access,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum DirectoryFacts {
    /// The path does not exist.
    Absent,
    /// The path exists, but is not a folder.
    InTheWay,
    Present(AccessFacts),
}

impl Directory {
    #[must_use]
    pub fn diff(&self, facts: &DirectoryFacts) -> Diff {
        match facts {
            DirectoryFacts::Absent => Diff::Changes(vec![Change::missing("exists", "directory")]),
            DirectoryFacts::InTheWay => {
                Diff::Changes(vec![Change::field("type", "not a directory", "directory")])
            }
            DirectoryFacts::Present(access) => {
                let mut changes = Vec::new();
                compare_access(&mut changes, self.access, access);
                Diff::from_changes(changes, || match self.access {
                    Access::Inherited => "the directory exists".to_owned(),
                    Access::AdministratorsOnly => {
                        "the directory exists, administrators only".to_owned()
                    }
                    Access::Mode(mode) => format!("the directory exists, mode {mode}"),
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
    fn wide_access_is_a_change_and_inherited_access_is_ignored() {
        let directory = |access| Directory {
            path: "/k".parse().unwrap(),
            access,
        };
        let narrow = directory(Access::AdministratorsOnly);
        let Diff::Changes(changes) = narrow.diff(&present(false)) else {
            panic!("wide access was accepted");
        };
        assert_eq!(changes[0].field, "access");
        assert!(narrow.diff(&present(true)).in_sync());
        assert!(directory(Access::Inherited).diff(&present(true)).in_sync());
        assert!(!narrow.diff(&DirectoryFacts::InTheWay).in_sync());
    }
}
