//! `containerStore`: the folder in which containerd keeps images, containers and
//! their layers.
//!
//! While it is there it is a folder like any other. It is a kind of its own for
//! how it goes: containerd itself lets go of what it keeps, then Windows deletes
//! the layers, which are no plain folders, and only then the rest can go.

use serde::{Deserialize, Serialize};

use crate::{Access, Condition, Diff, Directory, DirectoryFacts, HostPath};

/// The folder, and how its keeper is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContainerStore {
    /// The folder.
    pub path: HostPath,
    /// containerd's own program, `ctr`; without it the folder goes unasked.
    pub ctr: HostPath,
    /// Where containerd is spoken to.
    pub address: String,
    /// What must be so before it can be asked.
    pub ready: Condition,
    /// The folder with a folder for each layer, where only the system itself can
    /// delete those (Windows).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layers: Option<HostPath>,
    /// For how long each part of letting go may take.
    pub timeout_seconds: u32,
}

impl ContainerStore {
    /// The folder as such.
    #[must_use]
    pub fn directory(&self) -> Directory {
        Directory {
            path: self.path.clone(),
            access: Access::Inherited,
        }
    }

    /// What is to change.
    #[must_use]
    pub fn diff(&self, facts: &DirectoryFacts) -> Diff {
        self.directory().diff(facts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_folder_while_it_is_there() {
        let store = ContainerStore {
            path: "/var/lib/containerd".parse().unwrap(),
            ctr: "/usr/local/bin/ctr".parse().unwrap(),
            address: "/run/containerd/containerd.sock".to_owned(),
            ready: Condition::FileExists("/run/containerd/containerd.sock".parse().unwrap()),
            layers: None,
            timeout_seconds: 60,
        };
        assert!(!store.diff(&DirectoryFacts::Absent).is_right());
        let text = serde_json::to_string(&store).unwrap();
        assert!(!text.contains("layers"), "{text}");
        let read: ContainerStore = serde_json::from_str(&text).unwrap();
        assert_eq!(read, store);
    }
}
