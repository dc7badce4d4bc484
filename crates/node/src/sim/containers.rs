//! Containers of a simulated host, and layers that only a Windows API can delete.
//!
//! A layer is a directory that cannot be deleted like others; it is in use while its
//! container runs. Images and containers are deleted with containerd's directory.

use casement_resource::HostPath;

use super::world::{Container, SimEntry, WIDE, World};
use super::{Sim, refused};
use crate::platform::{Layers, ProgramExit, Result};

/// containerd's snapshots, below its directory on Windows.
const SNAPSHOTS: &str = r"root\io.containerd.snapshotter.v1.windows\snapshots";
const STORE: &str = r"C:\ProgramData\containerd";

impl World {
    /// Runs a container as a pod would. Its layer is created in containerd's directory,
    /// if that exists.
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
            let dir = (SimEntry::Directory, WIDE.to_owned());
            self.entries.entry(path.clone()).or_insert(dir);
        }
        let file = path.join("sandbox.vhdx").ok()?;
        let disk = (SimEntry::File(b"disk".to_vec()), WIDE.to_owned());
        self.entries.insert(file, disk);
        self.layers.insert(path.clone());
        Some(path)
    }

    /// A layer below a directory, which prevents its deletion.
    pub(super) fn layer_below(&self, dir: &HostPath) -> Option<&HostPath> {
        self.layers.iter().find(|layer| dir.contains(layer))
    }

    /// Forgets containers and images if containerd's directory is deleted.
    pub(super) fn clear_store(&mut self, dir: &HostPath) {
        let store: Option<HostPath> = STORE.parse().ok();
        if store.is_some_and(|store| dir.contains(&store)) {
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
                return Err(refused(&what, "a running container uses it"));
            }
            world.layers.remove(path);
            world.entries.retain(|it, _| !path.contains(it));
            Ok(())
        })
    }
}

impl Sim {
    /// The `ctr` commands for containers; `None` for others.
    pub(super) fn ctr_containers(&self, arguments: &[&str]) -> Option<Result<ProgramExit>> {
        let listed = |names: Vec<String>| Some(Ok(print(&names)));
        let world = self.world();
        match arguments {
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

    fn end_task(&self, id: &str) -> Result<ProgramExit> {
        if !self.lock().containers.contains_key(id) {
            return Ok(not_found());
        }
        self.change(&format!("end task {id}"), |world| {
            if let Some(container) = world.containers.get_mut(id) {
                container.running = false;
            }
            Ok(())
        })?;
        Ok(print(&[]))
    }

    fn delete_container(&self, id: &str) -> Result<ProgramExit> {
        match self.lock().containers.get(id) {
            None => return Ok(not_found()),
            Some(container) if container.running => {
                return Ok(failed("cannot delete a non stopped container"));
            }
            Some(_) => {}
        }
        self.change(&format!("delete container {id}"), |world| {
            let removed = world.containers.remove(id);
            if let Some(layer) = removed.and_then(|it| it.layer) {
                world.layers.remove(&layer);
                world.entries.retain(|it, _| !layer.contains(it));
            }
            Ok(())
        })?;
        Ok(print(&[]))
    }

    fn remove_snapshot(&self, id: &str) -> Result<ProgramExit> {
        self.change(&format!("remove snapshot {id}"), |world| {
            let layer = world.layers.iter().find(|it| it.file_name() == id).cloned();
            if let Some(layer) = layer {
                world.layers.remove(&layer);
                world.entries.retain(|it, _| !layer.contains(it));
            }
            Ok(())
        })?;
        Ok(print(&[]))
    }
}

fn print(lines: &[String]) -> ProgramExit {
    ProgramExit {
        code: Some(0),
        output: lines.join("\n"),
    }
}

fn not_found() -> ProgramExit {
    failed("not found")
}

fn failed(why: &str) -> ProgramExit {
    ProgramExit {
        code: Some(1),
        output: why.to_owned(),
    }
}
