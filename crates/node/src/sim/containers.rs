//! Containers of a simulated host: what containerd keeps in its folder, and what
//! only Windows can delete there.
//!
//! As understood: a layer is a folder that cannot be deleted as one; it is held
//! while its container runs; images and containers go with containerd's folder.

use casement_resource::HostPath;

use super::world::{Container, Thing, WIDE, World};
use super::{Sim, refused};
use crate::platform::{Ended, Layers, Result};

/// Where containerd keeps its snapshots, below its folder on Windows.
const SNAPSHOTS: &str = r"root\io.containerd.snapshotter.v1.windows\snapshots";
/// containerd's folder on Windows.
const STORE: &str = r"C:\ProgramData\containerd";

impl World {
    /// A container runs, as if a pod had asked for it. Its layer lies in
    /// containerd's folder, if that is there.
    pub fn run_container(&mut self, id: &str) {
        let layer = self.make_layer(id);
        let container = Container {
            running: true,
            layer,
        };
        self.containers.insert(id.to_owned(), container);
    }

    fn make_layer(&mut self, id: &str) -> Option<HostPath> {
        let mut path: HostPath = STORE.parse().ok()?;
        if !self.entries.contains_key(&path) {
            return None;
        }
        for part in SNAPSHOTS.split('\\').chain([id]) {
            path = path.join(part).ok()?;
            let folder = (Thing::Directory, WIDE.to_owned());
            self.entries.entry(path.clone()).or_insert(folder);
        }
        let file = path.join("sandbox.vhdx").ok()?;
        let disk = (Thing::File(b"disk".to_vec()), WIDE.to_owned());
        self.entries.insert(file, disk);
        self.layers.insert(path.clone());
        Some(path)
    }

    /// A layer below a folder, which keeps the folder from being deleted.
    pub(super) fn layer_below(&self, folder: &HostPath) -> Option<&HostPath> {
        self.layers.iter().find(|layer| folder.contains(layer))
    }

    /// What containerd kept goes with its folder.
    pub(super) fn lose_store(&mut self, folder: &HostPath) {
        let store: Option<HostPath> = STORE.parse().ok();
        if store.is_some_and(|store| folder.contains(&store)) {
            self.containers.clear();
            self.images.clear();
        }
    }
}

impl Layers for Sim {
    fn destroy_layer(&self, path: &HostPath) -> Result<()> {
        let what = format!("destroy_layer {path}");
        self.change(&what, |world| {
            let mut containers = world.containers.values();
            if containers.any(|it| it.running && it.layer.as_ref() == Some(path)) {
                return Err(refused(&what, "a container runs on it"));
            }
            world.layers.remove(path);
            world.entries.retain(|it, _| !path.contains(it));
            Ok(())
        })
    }
}

impl Sim {
    /// What `ctr` says and does about containers; none for other words.
    pub(super) fn ctr_containers(&self, words: &[&str]) -> Option<Result<Ended>> {
        let listed = |names: Vec<String>| Some(Ok(said(&names)));
        let world = self.world();
        match words {
            ["tasks", "list", "--quiet"] => {
                let running = world.containers.iter().filter(|(_, it)| it.running);
                listed(running.map(|(id, _)| id.clone()).collect())
            }
            ["containers", "list", "--quiet"] => listed(world.containers.into_keys().collect()),
            ["images", "list", "--quiet"] => listed(world.images.into_keys().collect()),
            ["snapshots", "list"] => {
                let rows = world
                    .layers
                    .iter()
                    .map(|it| format!("{} Active", it.file_name()));
                listed(
                    std::iter::once("KEY PARENT KIND".to_owned())
                        .chain(rows)
                        .collect(),
                )
            }
            ["tasks", "delete", "--force", id] => Some(self.end_task(id)),
            ["containers", "delete", id] => Some(self.delete_container(id)),
            ["snapshots", "remove", id] => Some(self.remove_snapshot(id)),
            _ => None,
        }
    }

    fn end_task(&self, id: &str) -> Result<Ended> {
        if !self.lock().containers.contains_key(id) {
            return Ok(not_found());
        }
        self.change(&format!("end task {id}"), |world| {
            if let Some(container) = world.containers.get_mut(id) {
                container.running = false;
            }
            Ok(())
        })?;
        Ok(said(&[]))
    }

    /// Its layer goes with it.
    fn delete_container(&self, id: &str) -> Result<Ended> {
        match self.lock().containers.get(id) {
            None => return Ok(not_found()),
            Some(container) if container.running => {
                return Ok(failed("cannot delete a non stopped container"));
            }
            Some(_) => {}
        }
        self.change(&format!("delete container {id}"), |world| {
            let gone = world.containers.remove(id);
            if let Some(layer) = gone.and_then(|it| it.layer) {
                world.layers.remove(&layer);
                world.entries.retain(|it, _| !layer.contains(it));
            }
            Ok(())
        })?;
        Ok(said(&[]))
    }

    fn remove_snapshot(&self, id: &str) -> Result<Ended> {
        self.change(&format!("remove snapshot {id}"), |world| {
            let layer = world.layers.iter().find(|it| it.file_name() == id).cloned();
            if let Some(layer) = layer {
                world.layers.remove(&layer);
                world.entries.retain(|it, _| !layer.contains(it));
            }
            Ok(())
        })?;
        Ok(said(&[]))
    }
}

fn said(lines: &[String]) -> Ended {
    Ended {
        code: Some(0),
        output: lines.join("\n"),
    }
}

fn not_found() -> Ended {
    failed("not found")
}

fn failed(why: &str) -> Ended {
    Ended {
        code: Some(1),
        output: why.to_owned(),
    }
}
