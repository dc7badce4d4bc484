//! Snapshots of a host, as a killed process leaves it, to copy and compare.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::hash::Hash;
use std::path::{Path, PathBuf};

use casement_resource::Sha256;

use super::{Rig, with_blobs};
use crate::sim::{Sim, World};
use crate::state::Layout;

/// The host and the state folder, without journals: a run reads only its own.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct HostSnapshot {
    world: World,
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl HostSnapshot {
    pub(super) fn of(sim: &Sim, layout: &Layout) -> Self {
        let mut files = BTreeMap::new();
        read(layout.root(), Path::new("state"), &mut files);
        Self {
            world: sim.world(),
            files,
        }
    }

    /// A host in this state.
    pub(super) fn rig(&self) -> Rig {
        let rig = with_blobs(self.world.clone());
        for (path, bytes) in &self.files {
            fs::write(rig.layout.root().join(path), bytes).unwrap();
        }
        rig
    }

    fn digest(&self) -> Sha256 {
        let mut all = Vec::new();
        for (path, bytes) in &self.files {
            all.extend(path.as_os_str().as_encoded_bytes());
            all.extend(bytes.len().to_le_bytes());
            all.extend(bytes);
        }
        Sha256::of(&all)
    }
}

fn read(root: &Path, folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(root.join(folder)).unwrap() {
        let entry = entry.unwrap();
        let path = folder.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            read(root, &path, files);
        } else {
            files.insert(path, fs::read(entry.path()).unwrap());
        }
    }
}

/// States that were tested already. A result depends only on the state, so each is
/// tested once.
pub(super) struct SeenStates<K>(HashMap<(K, Sha256), Vec<World>>);

impl<K> Default for SeenStates<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Eq + Hash> SeenStates<K> {
    pub(super) fn is_new(&mut self, key: K, snapshot: &HostSnapshot) -> bool {
        let worlds = self.0.entry((key, snapshot.digest())).or_default();
        let new = !worlds.contains(&snapshot.world);
        if new {
            worlds.push(snapshot.world.clone());
        }
        new
    }

    pub(super) fn count(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }
}
