//! Files of a simulated host.

use std::io::{self, Read};

use casement_resource::{Access, AccessFacts, Code, Failure, HostPath};

use super::world::{NARROW, SimEntry, WIDE};
use super::{Sim, refused};
use crate::platform::{Entry, EntryKind, Files, Result, WriteOptions};

impl Files for Sim {
    fn entry(&self, path: &HostPath) -> Result<Option<Entry>> {
        self.read("entry")?;
        // A drive always exists.
        let found = match path.parent() {
            None => Some((SimEntry::Directory, WIDE.to_owned())),
            Some(_) => self.lock().entries.get(path).cloned(),
        };
        Ok(found.map(|(entry, access)| Entry {
            kind: match entry {
                SimEntry::Directory => EntryKind::Directory,
                SimEntry::File(_) => EntryKind::File,
                SimEntry::Link(_) => EntryKind::Other,
            },
            access: AccessFacts {
                administrators_only: access == NARROW,
                owner_trusted: access != "untrusted",
                descriptor: access,
            },
        }))
    }

    fn open(&self, path: &HostPath) -> Result<Box<dyn Read>> {
        self.read("open")?;
        match self.lock().entries.get(path) {
            Some((SimEntry::File(bytes), _)) => Ok(Box::new(io::Cursor::new(bytes.clone()))),
            _ => Err(refused(&format!("open {path}"), "no such file")),
        }
    }

    fn list(&self, path: &HostPath) -> Result<Vec<String>> {
        self.read("list")?;
        let world = self.lock();
        let is_child = |it: &&HostPath| it.parent().as_ref() == Some(path);
        let names = world
            .entries
            .keys()
            .filter(is_child)
            .map(|it| it.file_name().to_owned());
        Ok(names.collect())
    }

    fn create_directory(&self, path: &HostPath, access: Access) -> Result<()> {
        self.require_parent(path)?;
        self.change(&format!("create_directory {path}"), |world| {
            let entry = (SimEntry::Directory, descriptor(access));
            match world.entries.insert(path.clone(), entry) {
                None => Ok(()),
                Some(_) => Err(refused(&format!("create_directory {path}"), "it exists")),
            }
        })
    }

    fn write(&self, path: &HostPath, content: &mut dyn Read, form: WriteOptions) -> Result<()> {
        self.require_parent(path)?;
        let mut bytes = Vec::new();
        content
            .read_to_end(&mut bytes)
            .map_err(|error| refused(&format!("write {path}"), &error.to_string()))?;
        self.require_space(path, bytes.len() as u64)?;
        self.require_not_locked(path)?;
        self.change(&format!("write {path}"), |world| {
            let access = match (form.access, world.entries.get(path)) {
                (Access::Inherited, Some((_, access))) => access.clone(),
                (access, _) => descriptor(access),
            };
            world
                .entries
                .insert(path.clone(), (SimEntry::File(bytes), access));
            Ok(())
        })
    }

    fn read_link(&self, path: &HostPath) -> Result<Option<String>> {
        self.read("read_link")?;
        Ok(match self.lock().entries.get(path) {
            Some((SimEntry::Link(target), _)) => Some(target.clone()),
            _ => None,
        })
    }

    fn create_symlink(&self, path: &HostPath, target: &str) -> Result<()> {
        self.require_parent(path)?;
        self.change(&format!("create_symlink {path}"), |world| {
            let link = (SimEntry::Link(target.to_owned()), WIDE.to_owned());
            world.entries.insert(path.clone(), link);
            Ok(())
        })
    }

    fn set_access(&self, path: &HostPath, access: Access) -> Result<()> {
        self.restore_access(path, &descriptor(access))
    }

    fn restore_access(&self, path: &HostPath, descriptor: &str) -> Result<()> {
        self.change(&format!("set_access {path}"), |world| {
            match world.entries.get_mut(path) {
                Some((_, access)) => descriptor.clone_into(access),
                None => return Err(refused(&format!("set_access {path}"), "no such path")),
            }
            Ok(())
        })
    }

    fn remove_file(&self, path: &HostPath) -> Result<()> {
        self.require_not_locked(path)?;
        self.change(&format!("remove_file {path}"), |world| {
            if let Some((SimEntry::Directory, _)) = world.entries.get(path) {
                return Err(refused(&format!("remove_file {path}"), "it is a directory"));
            }
            world.entries.remove(path);
            Ok(())
        })
    }

    fn remove_empty_directory(&self, path: &HostPath) -> Result<bool> {
        self.change(&format!("remove_empty_directory {path}"), |world| {
            let empty = !world
                .entries
                .keys()
                .any(|it| it.parent().as_ref() == Some(path));
            if empty {
                world.entries.remove(path);
            }
            Ok(empty)
        })
    }

    fn remove_tree(&self, path: &HostPath) -> Result<()> {
        let what = format!("remove_tree {path}");
        self.change(&what, |world| {
            if let Some(layer) = world.layer_below(path) {
                return Err(refused(&what, &format!("access to {layer} is denied")));
            }
            world.clear_store(path);
            world.entries.retain(|it, _| !path.contains(it));
            Ok(())
        })
    }
}

impl Sim {
    fn require_space(&self, path: &HostPath, bytes: u64) -> Result<()> {
        match self.faults().max_file_bytes {
            Some(max_file_bytes) if bytes > max_file_bytes => Err(Failure::new(
                Code::System,
                format!("cannot write `{path}`: there is not enough space on the disk"),
                "free up disk space, then run `casement apply` again",
            )
            .values(
                format!("{bytes} bytes free"),
                format!("{max_file_bytes} bytes free"),
            )),
            _ => Ok(()),
        }
    }

    fn require_not_locked(&self, path: &HostPath) -> Result<()> {
        if self.faults().locked_file.as_deref() != Some(path.as_str()) {
            return Ok(());
        }
        Err(Failure::new(
            Code::System,
            format!("cannot replace `{path}`: it is being used by another process"),
            "stop the program that has the file open, then run `casement apply` again",
        )
        .values("a file that no process has open", "open in another process"))
    }

    fn require_parent(&self, path: &HostPath) -> Result<()> {
        let parent = path.parent().filter(|parent| parent.parent().is_some());
        let Some(parent) = parent else {
            return Ok(());
        };
        match self.lock().entries.get(&parent) {
            Some((SimEntry::Directory, _)) => Ok(()),
            _ => Err(refused(
                &format!("write {path}"),
                "the parent directory does not exist",
            )),
        }
    }
}

fn descriptor(access: Access) -> String {
    match access {
        Access::Inherited => WIDE.to_owned(),
        Access::AdministratorsOnly => NARROW.to_owned(),
        Access::Mode(mode) => format!("{mode} 0:0"),
    }
}
