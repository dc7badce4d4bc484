//! `containerStore`: containerd's data folder for images, containers and layers.
//!
//! It differs from a directory only in its removal: containerd first deletes its
//! content, then Windows deletes the layers, which are not plain folders, and then the
//! rest can be deleted.

use serde::{Deserialize, Serialize};

use crate::{Access, Condition, Diff, Directory, DirectoryFacts, HostPath};

/// The folder, and how to talk to containerd.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContainerStore {
    pub path: HostPath,
    /// containerd's `ctr`; without it the folder is deleted directly.
    pub ctr: HostPath,
    /// containerd's address.
    pub address: String,
    /// Must be met before the first request.
    pub ready: Condition,
    /// The folder of the layers, if only the operating system can delete them
    /// (Windows).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layers: Option<HostPath>,
    /// Limit for each part of the removal.
    pub timeout_seconds: u32,
}

impl ContainerStore {
    #[must_use]
    pub fn directory(&self) -> Directory {
        Directory {
            path: self.path.clone(),
            access: Access::Inherited,
        }
    }

    #[must_use]
    pub fn diff(&self, facts: &DirectoryFacts) -> Diff {
        self.directory().diff(facts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_observed_like_a_directory() {
        let store = ContainerStore {
            path: "/var/lib/containerd".parse().unwrap(),
            ctr: "/usr/local/bin/ctr".parse().unwrap(),
            address: "/run/containerd/containerd.sock".to_owned(),
            ready: Condition::FileExists("/run/containerd/containerd.sock".parse().unwrap()),
            layers: None,
            timeout_seconds: 60,
        };
        assert!(!store.diff(&DirectoryFacts::Absent).in_sync());
        let text = serde_json::to_string(&store).unwrap();
        assert!(!text.contains("layers"), "{text}");
        let read: ContainerStore = serde_json::from_str(&text).unwrap();
        assert_eq!(read, store);
    }
}
