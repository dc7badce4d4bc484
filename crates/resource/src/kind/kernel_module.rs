//! `kernelModule`: a loaded kernel module.

use serde::{Deserialize, Serialize};

use crate::{Change, Diff, ModuleName};

/// Modules loaded at boot are files in `/etc/modules-load.d`, and separate steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KernelModule {
    pub name: ModuleName,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum KernelModuleFacts {
    Absent,
    /// Built into the kernel.
    BuiltIn,
    Loaded {
        /// The number of users.
        users: u32,
    },
    /// This kernel does not support modules, and does not list everything built in.
    Unknown,
}

impl KernelModule {
    #[must_use]
    pub fn diff(&self, facts: &KernelModuleFacts) -> Diff {
        match facts {
            KernelModuleFacts::Absent => {
                Diff::Changes(vec![Change::field("module", "not loaded", "loaded")])
            }
            KernelModuleFacts::BuiltIn => Diff::unchanged("built into the kernel"),
            KernelModuleFacts::Loaded { users } => Diff::unchanged(match users {
                1 => "loaded, 1 user".to_owned(),
                users => format!("loaded, {users} users"),
            }),
            KernelModuleFacts::Unknown => Diff::InSync {
                reason: "this kernel does not support modules; everything is built in".to_owned(),
                unobserved: vec!["module".to_owned()],
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_modules_are_in_sync_and_unknown_ones_unobserved() {
        let module = KernelModule {
            name: "br_netfilter".parse().unwrap(),
        };
        assert!(!module.diff(&KernelModuleFacts::Absent).in_sync());
        assert!(module.diff(&KernelModuleFacts::BuiltIn).in_sync());
        assert_eq!(
            module.diff(&KernelModuleFacts::Loaded { users: 2 }),
            Diff::unchanged("loaded, 2 users")
        );
        let Diff::InSync { unobserved, .. } = module.diff(&KernelModuleFacts::Unknown) else {
            panic!("a kernel without module support needs a change");
        };
        assert_eq!(unobserved, ["module"]);
    }
}
