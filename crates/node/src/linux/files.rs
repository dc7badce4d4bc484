//! Files and folders of Linux.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{
    DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown, symlink,
};
use std::path::{Path, PathBuf};

use casement_resource::{Access, AccessFacts, Code, Failure, HostPath};

use super::{Linux, system_failure};
use crate::platform::{Entry, EntryKind, Files, Form, Result};
use crate::state::sync_folder;

impl Files for Linux {
    fn entry(&self, path: &HostPath) -> Result<Option<Entry>> {
        let metadata = match fs::symlink_metadata(path.as_str()) {
            Ok(metadata) => metadata,
            Err(error) if absent(&error) => return Ok(None),
            Err(error) => return Err(failed("looked at", path, &error)),
        };
        let kind = if metadata.is_file() {
            EntryKind::File
        } else if metadata.is_dir() {
            EntryKind::Directory
        } else {
            EntryKind::Other
        };
        let (mode, owner) = (metadata.mode() & 0o7777, metadata.uid());
        let owner_trusted = owner == 0 || owner == rustix::process::geteuid().as_raw();
        Ok(Some(Entry {
            kind,
            access: AccessFacts {
                administrators_only: mode & 0o077 == 0 && owner_trusted,
                owner_trusted,
                descriptor: format!("{mode:04o} {owner}:{}", metadata.gid()),
            },
        }))
    }

    fn open(&self, path: &HostPath) -> Result<Box<dyn Read>> {
        let file = File::open(path.as_str()).map_err(|error| failed("opened", path, &error))?;
        Ok(Box::new(file))
    }

    fn list(&self, path: &HostPath) -> Result<Vec<String>> {
        let failure = |error| failed("listed", path, &error);
        let mut names = Vec::new();
        for entry in fs::read_dir(path.as_str()).map_err(failure)? {
            names.push(
                entry
                    .map_err(failure)?
                    .file_name()
                    .to_string_lossy()
                    .into_owned(),
            );
        }
        names.sort();
        Ok(names)
    }

    fn make_directory(&self, path: &HostPath, access: Access) -> Result<()> {
        let mode = match access {
            Access::Inherited => 0o755,
            Access::AdministratorsOnly => 0o700,
            Access::Mode(mode) => mode.bits(),
        };
        DirBuilder::new()
            .mode(mode)
            .create(path.as_str())
            .and_then(|()| fs::set_permissions(path.as_str(), Permissions::from_mode(mode)))
            .and_then(|()| sync_folder(Path::new(path.as_str())))
            .map_err(|error| failed("made", path, &error))
    }

    fn write(&self, path: &HostPath, content: &mut dyn Read, form: Form) -> Result<()> {
        let target = Path::new(path.as_str());
        let temporary = temporary(target);
        let result = write(target, &temporary, content, form);
        let Err(error) = result else {
            return Ok(());
        };
        let written = fs::metadata(&temporary).map_or(0, |seen| seen.len());
        let _ = fs::remove_file(&temporary);
        let failure = failed("written", path, &error);
        Err(match error.kind() {
            io::ErrorKind::StorageFull => failure.values(
                format!("room for more than {written} bytes"),
                format!("{error}: {} bytes are free", free(target)),
            ),
            _ => failure,
        })
    }

    fn read_link(&self, path: &HostPath) -> Result<Option<String>> {
        match fs::read_link(path.as_str()) {
            Ok(target) => Ok(Some(target.to_string_lossy().into_owned())),
            // What is no link is invalid to readlink(2).
            Err(error) if absent(&error) || error.kind() == io::ErrorKind::InvalidInput => Ok(None),
            Err(error) => Err(failed("read", path, &error)),
        }
    }

    fn make_link(&self, path: &HostPath, target: &str) -> Result<()> {
        let place = Path::new(path.as_str());
        let temporary = temporary(place);
        let make = || {
            match fs::remove_file(&temporary) {
                Err(error) if !absent(&error) => return Err(error),
                _ => {}
            }
            symlink(target, &temporary)?;
            fs::rename(&temporary, place)?;
            sync_folder(place)
        };
        make().map_err(|error| failed("made", path, &error))
    }

    fn set_access(&self, path: &HostPath, access: Access) -> Result<()> {
        let mode = |access| -> io::Result<Option<u32>> {
            Ok(match access {
                Access::Inherited => return Ok(None),
                Access::AdministratorsOnly => {
                    Some(fs::symlink_metadata(path.as_str())?.mode() & 0o700)
                }
                Access::Mode(mode) => Some(mode.bits()),
            })
        };
        let set = || match mode(access)? {
            None => Ok(()),
            Some(mode) => fs::set_permissions(path.as_str(), Permissions::from_mode(mode)),
        };
        set().map_err(|error| failed("given another mode", path, &error))
    }

    fn restore_access(&self, path: &HostPath, descriptor: &str) -> Result<()> {
        let (mode, owner, group) = parse(descriptor).ok_or_else(|| {
            Failure::new(
                Code::Restore,
                format!("the recorded access of `{path}` cannot be understood"),
                "set its owner and mode by hand",
            )
            .values("mode owner:group", descriptor)
        })?;
        chown(path.as_str(), Some(owner), Some(group))
            .and_then(|()| fs::set_permissions(path.as_str(), Permissions::from_mode(mode)))
            .map_err(|error| failed("given back", path, &error))
    }

    fn remove_file(&self, path: &HostPath) -> Result<()> {
        match fs::remove_file(path.as_str()) {
            Err(error) if !absent(&error) => Err(failed("deleted", path, &error)),
            _ => Ok(()),
        }
    }

    fn remove_empty_directory(&self, path: &HostPath) -> Result<bool> {
        match fs::remove_dir(path.as_str()) {
            Ok(()) => Ok(true),
            Err(error) if absent(&error) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(false),
            Err(error) => Err(failed("deleted", path, &error)),
        }
    }

    fn remove_tree(&self, path: &HostPath) -> Result<()> {
        match fs::remove_dir_all(path.as_str()) {
            Err(error) if !absent(&error) => Err(failed("deleted", path, &error)),
            _ => Ok(()),
        }
    }
}

fn write(target: &Path, temporary: &Path, content: &mut dyn Read, form: Form) -> io::Result<()> {
    let before = fs::symlink_metadata(target).ok();
    // Never readable by others before its final mode is set.
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(temporary)?;
    io::copy(content, &mut file)?;
    let plain = if form.executable { 0o755 } else { 0o644 };
    let mode = match (form.access, &before) {
        (Access::Mode(mode), _) => mode.bits(),
        (Access::AdministratorsOnly, _) => plain & 0o700,
        (Access::Inherited, None) => plain,
        (Access::Inherited, Some(metadata)) => {
            chown(temporary, Some(metadata.uid()), Some(metadata.gid()))?;
            metadata.mode() & 0o7777
        }
    };
    file.set_permissions(Permissions::from_mode(mode))?;
    file.sync_all()?;
    drop(file);
    fs::rename(temporary, target)?;
    sync_folder(target)
}

/// What can still be written beside a file; 0 if nobody can say.
fn free(target: &Path) -> u64 {
    let folder = target.parent().unwrap_or(target);
    rustix::fs::statvfs(folder).map_or(0, |seen| seen.f_bavail * seen.f_frsize)
}

/// In the same folder, so that a rename is atomic; a name of casement's, so
/// that a leftover is replaced by the next try.
fn temporary(target: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".casement-new-");
    name.push(target.file_name().unwrap_or_default());
    target.with_file_name(name)
}

fn parse(descriptor: &str) -> Option<(u32, u32, u32)> {
    let (mode, owners) = descriptor.split_once(' ')?;
    let (owner, group) = owners.split_once(':')?;
    Some((
        u32::from_str_radix(mode, 8).ok()?,
        owner.parse().ok()?,
        group.parse().ok()?,
    ))
}

fn absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn failed(what: &str, path: &HostPath, error: &io::Error) -> Failure {
    system_failure(format!("`{path}` could not be {what}"), error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Layout;

    fn setting() -> (tempfile::TempDir, Linux, HostPath) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap().parse().unwrap();
        let linux = Linux::new(&Layout::new(folder.path().join("state")));
        (folder, linux, path)
    }

    const PLAIN: Form = Form {
        access: Access::Inherited,
        executable: false,
    };

    #[test]
    fn a_replaced_file_keeps_its_mode_and_a_narrow_one_is_narrow() {
        let (_folder, linux, folder) = setting();
        let path = folder.join("a").unwrap();
        linux.write(&path, &mut b"1".as_slice(), PLAIN).unwrap();
        linux
            .restore_access(&path, &format!("0640 {}", owners(&linux, &path)))
            .unwrap();
        linux.write(&path, &mut b"2".as_slice(), PLAIN).unwrap();
        assert_eq!(fs::read(path.as_str()).unwrap(), b"2");
        assert!(
            linux
                .entry(&path)
                .unwrap()
                .unwrap()
                .access
                .descriptor
                .starts_with("0640 ")
        );
        let narrow = Form {
            access: Access::AdministratorsOnly,
            executable: true,
        };
        linux.write(&path, &mut b"3".as_slice(), narrow).unwrap();
        let access = linux.entry(&path).unwrap().unwrap().access;
        assert!(access.administrators_only && access.descriptor.starts_with("0700 "));
        assert_eq!(linux.list(&folder).unwrap(), ["a"]);
    }

    fn owners(linux: &Linux, path: &HostPath) -> String {
        let descriptor = linux.entry(path).unwrap().unwrap().access.descriptor;
        descriptor.split_once(' ').unwrap().1.to_owned()
    }

    #[test]
    fn a_link_is_replaced_as_a_whole_and_says_what_it_was_told() {
        let (_folder, linux, folder) = setting();
        let link = folder.join("link").unwrap();
        assert_eq!(linux.read_link(&link).unwrap(), None);
        linux.make_link(&link, "nowhere").unwrap();
        // What a kill leaves.
        symlink("x", temporary(Path::new(link.as_str()))).unwrap();
        linux.make_link(&link, "../else").unwrap();
        assert_eq!(linux.read_link(&link).unwrap().unwrap(), "../else");
        assert_eq!(linux.list(&folder).unwrap(), ["link"]);
        assert_eq!(linux.read_link(&folder).unwrap(), None);
    }

    #[test]
    fn links_are_not_followed() {
        let (_folder, linux, folder) = setting();
        let (kept, tree) = (folder.join("kept").unwrap(), folder.join("tree").unwrap());
        fs::create_dir(kept.as_str()).unwrap();
        fs::write(kept.join("file").unwrap().as_str(), "x").unwrap();
        fs::create_dir(tree.as_str()).unwrap();
        let link = tree.join("link").unwrap();
        std::os::unix::fs::symlink(kept.as_str(), link.as_str()).unwrap();
        assert_eq!(linux.entry(&link).unwrap().unwrap().kind, EntryKind::Other);
        linux.remove_tree(&tree).unwrap();
        assert!(
            kept.join("file")
                .unwrap()
                .as_str()
                .parse::<PathBuf>()
                .unwrap()
                .exists()
        );
        assert!(!linux.remove_empty_directory(&kept).unwrap());
    }
}
