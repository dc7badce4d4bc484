//! `kernelModule`: a part of the kernel that should be there.

use serde::{Deserialize, Serialize};

use crate::{Change, Diff, ModuleName};

/// A module that should be loaded. What a boot loads is a file below
/// `/etc/modules-load.d`, and a step of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KernelModule {
    /// Its name.
    pub name: ModuleName,
}

/// A module as found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum KernelModuleFacts {
    /// It is not loaded.
    Absent,
    /// It is part of the kernel itself.
    BuiltIn,
    /// It is loaded.
    Loaded {
        /// How many things use it.
        users: u32,
    },
    /// This kernel loads no modules: what it has, is built in, and it does not
    /// tell all of that.
    Unknown,
}

impl KernelModule {
    /// What is to change.
    #[must_use]
    pub fn diff(&self, facts: &KernelModuleFacts) -> Diff {
        match facts {
            KernelModuleFacts::Absent => {
                Diff::Changes(vec![Change::field("module", "not loaded", "loaded")])
            }
            KernelModuleFacts::BuiltIn => Diff::right("built into the kernel"),
            KernelModuleFacts::Loaded { users } => Diff::right(format!("loaded, {users} users")),
            KernelModuleFacts::Unknown => Diff::Right {
                reason: "this kernel loads no modules: what it has, is built in".to_owned(),
                unobserved: vec!["module".to_owned()],
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_in_needs_no_loading_and_what_is_unknown_is_said_to_be() {
        let module = KernelModule {
            name: "br_netfilter".parse().unwrap(),
        };
        assert!(!module.diff(&KernelModuleFacts::Absent).is_right());
        assert!(module.diff(&KernelModuleFacts::BuiltIn).is_right());
        assert_eq!(
            module.diff(&KernelModuleFacts::Loaded { users: 2 }),
            Diff::right("loaded, 2 users")
        );
        let Diff::Right { unobserved, .. } = module.diff(&KernelModuleFacts::Unknown) else {
            panic!("a kernel without modules was told to load one");
        };
        assert_eq!(unobserved, ["module"]);
    }
}
