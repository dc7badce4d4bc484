//! Files and directories on Linux.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{
    DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown, symlink,
};
use std::path::{Path, PathBuf};

use casement_resource::{Access, AccessFacts, Code, Failure, HostPath};

use super::{Linux, system_failure};
use crate::platform::{Entry, EntryKind, Files, Result, WriteOptions};
use crate::state::sync_folder;

impl Files for Linux {
    fn entry(&self, path: &HostPath) -> Result<Option<Entry>> {
        let metadata = match fs::symlink_metadata(path.as_str()) {
            Ok(metadata) => metadata,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(failed("inspected", path, &error)),
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

    fn create_directory(&self, path: &HostPath, access: Access) -> Result<()> {
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
            .map_err(|error| failed("created", path, &error))
    }

    fn write(&self, path: &HostPath, content: &mut dyn Read, options: WriteOptions) -> Result<()> {
        let target = Path::new(path.as_str());
        let temporary = temporary(target);
        let result = write(target, &temporary, content, options);
        let Err(error) = result else {
            return Ok(());
        };
        let written = fs::metadata(&temporary).map_or(0, |metadata| metadata.len());
        let _ = fs::remove_file(&temporary);
        let failure = failed("written", path, &error);
        Err(match error.kind() {
            io::ErrorKind::StorageFull => failure.values(
                format!("more than {written} bytes free"),
                format!("{error}: {} bytes free", free_bytes(target)),
            ),
            _ => failure,
        })
    }

    fn read_link(&self, path: &HostPath) -> Result<Option<String>> {
        match fs::read_link(path.as_str()) {
            Ok(target) => Ok(Some(target.to_string_lossy().into_owned())),
            // readlink(2) fails with EINVAL for anything but a symlink.
            Err(error) if is_missing(&error) || error.kind() == io::ErrorKind::InvalidInput => {
                Ok(None)
            }
            Err(error) => Err(failed("read", path, &error)),
        }
    }

    fn create_symlink(&self, path: &HostPath, target: &str) -> Result<()> {
        let target_path = Path::new(path.as_str());
        let temporary = temporary(target_path);
        let make = || {
            match fs::remove_file(&temporary) {
                Err(error) if !is_missing(&error) => return Err(error),
                _ => {}
            }
            symlink(target, &temporary)?;
            fs::rename(&temporary, target_path)?;
            sync_folder(target_path)
        };
        make().map_err(|error| failed("created", path, &error))
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
        set().map_err(|error| failed("changed", path, &error))
    }

    fn restore_access(&self, path: &HostPath, descriptor: &str) -> Result<()> {
        let (mode, owner, group) = parse(descriptor).ok_or_else(|| {
            Failure::new(
                Code::Restore,
                format!("the recorded access of `{path}` is not valid"),
                "set its owner and mode manually",
            )
            .values("mode owner:group", descriptor)
        })?;
        chown(path.as_str(), Some(owner), Some(group))
            .and_then(|()| fs::set_permissions(path.as_str(), Permissions::from_mode(mode)))
            .map_err(|error| failed("restored", path, &error))
    }

    fn remove_file(&self, path: &HostPath) -> Result<()> {
        match fs::remove_file(path.as_str()) {
            Err(error) if !is_missing(&error) => Err(failed("deleted", path, &error)),
            _ => Ok(()),
        }
    }

    fn remove_empty_directory(&self, path: &HostPath) -> Result<bool> {
        match fs::remove_dir(path.as_str()) {
            Ok(()) => Ok(true),
            Err(error) if is_missing(&error) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(false),
            Err(error) => Err(failed("deleted", path, &error)),
        }
    }

    fn remove_tree(&self, path: &HostPath) -> Result<()> {
        match fs::remove_dir_all(path.as_str()) {
            Err(error) if !is_missing(&error) => Err(failed("deleted", path, &error)),
            _ => Ok(()),
        }
    }
}

fn write(
    target: &Path,
    temporary: &Path,
    content: &mut dyn Read,
    options: WriteOptions,
) -> io::Result<()> {
    let before = fs::symlink_metadata(target).ok();
    // Not readable by others before its final mode is set.
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(temporary)?;
    io::copy(content, &mut file)?;
    let plain = if options.executable { 0o755 } else { 0o644 };
    let mode = match (options.access, &before) {
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

/// Free bytes on the file system of `target`; 0 if unknown.
fn free_bytes(target: &Path) -> u64 {
    let dir = target.parent().unwrap_or(target);
    rustix::fs::statvfs(dir).map_or(0, |metadata| metadata.f_bavail * metadata.f_frsize)
}

/// In the same directory, so that the rename is atomic; with a fixed name, so that the
/// next attempt replaces a leftover.
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

fn is_missing(error: &io::Error) -> bool {
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

    fn fixture() -> (tempfile::TempDir, Linux, HostPath) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().to_str().unwrap().parse().unwrap();
        let linux = Linux::new(&Layout::new(dir.path().join("state")));
        (dir, linux, path)
    }

    const PLAIN: WriteOptions = WriteOptions {
        access: Access::Inherited,
        executable: false,
    };

    #[test]
    fn replaced_file_keeps_its_mode_unless_access_is_restricted() {
        let (_temp_dir, linux, dir) = fixture();
        let path = dir.join("a").unwrap();
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
        let restricted = WriteOptions {
            access: Access::AdministratorsOnly,
            executable: true,
        };
        linux
            .write(&path, &mut b"3".as_slice(), restricted)
            .unwrap();
        let access = linux.entry(&path).unwrap().unwrap().access;
        assert!(access.administrators_only && access.descriptor.starts_with("0700 "));
        assert_eq!(linux.list(&dir).unwrap(), ["a"]);
    }

    fn owners(linux: &Linux, path: &HostPath) -> String {
        let descriptor = linux.entry(path).unwrap().unwrap().access.descriptor;
        descriptor.split_once(' ').unwrap().1.to_owned()
    }

    #[test]
    fn symlink_is_replaced_atomically_and_keeps_its_target_text() {
        let (_temp_dir, linux, dir) = fixture();
        let link = dir.join("link").unwrap();
        assert_eq!(linux.read_link(&link).unwrap(), None);
        linux.create_symlink(&link, "nowhere").unwrap();
        // A leftover of a killed process.
        symlink("x", temporary(Path::new(link.as_str()))).unwrap();
        linux.create_symlink(&link, "../else").unwrap();
        assert_eq!(linux.read_link(&link).unwrap().unwrap(), "../else");
        assert_eq!(linux.list(&dir).unwrap(), ["link"]);
        assert_eq!(linux.read_link(&dir).unwrap(), None);
    }

    #[test]
    fn symlinks_are_not_followed() {
        let (_temp_dir, linux, dir) = fixture();
        let (kept, tree) = (dir.join("kept").unwrap(), dir.join("tree").unwrap());
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
