//! A container's drive C: an overlay on the template prefix.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lab_wire::container::{ContainerKey, Mount};
use rustix::mount::{MountFlags, UnmountFlags};

use super::{ContainerError, ContainersConfig, processes, windows_paths};
use crate::wine::windows::WindowsRelease;
use crate::{wait, wine};

/// How long an overlay may stay busy after its last process has ended.
const UNMOUNT_TIMEOUT: Duration = Duration::from_secs(5);

/// Starts all other processes in a container.
const ENTER: &str = "drive_c/lab/enter.exe";

#[derive(Debug, Clone)]
pub(super) struct OverlayDrive {
    dir: PathBuf,
}

impl OverlayDrive {
    /// The drive may not exist yet.
    pub(super) fn at(
        config: &ContainersConfig,
        key: &ContainerKey,
    ) -> Result<Self, ContainerError> {
        let dir = config.work_dir.join(check_id(&key.sandbox)?);
        Ok(Self {
            dir: dir.join(check_id(&key.container)?),
        })
    }

    /// The mount point of the overlay, a Wine prefix.
    pub(super) fn prefix(&self) -> PathBuf {
        self.dir.join("prefix")
    }

    /// The Linux path of the container's `C:\`.
    pub(super) fn drive_c(&self) -> PathBuf {
        self.prefix().join("drive_c")
    }

    /// The environment entry of all processes of the container.
    pub(super) fn marker(&self) -> String {
        format!("WINEPREFIX={}", self.prefix().display())
    }

    pub(super) fn mount(&self, template: &Path) -> Result<(), ContainerError> {
        if !template.join(ENTER).is_file() {
            return Err(ContainerError::Template(template.join(ENTER)));
        }
        let (upper, work) = (self.dir.join("upper"), self.dir.join("work"));
        for dir in [&upper, &work, &self.prefix()] {
            fs::create_dir_all(dir).map_err(ContainerError::file("create", dir))?;
        }
        let options = format!(
            "lowerdir={},upperdir={},workdir={}",
            template.display(),
            upper.display(),
            work.display()
        );
        // Paths contain no NUL.
        let options = std::ffi::CString::new(options)
            .map_err(|error| ContainerError::Internal(error.to_string()))?;
        rustix::mount::mount(
            "overlay",
            self.prefix(),
            "overlay",
            MountFlags::empty(),
            options.as_c_str(),
        )
        .map_err(|error| ContainerError::Overlay(self.prefix(), error.into()))
    }

    /// Makes programs see the Windows release of the host.
    pub(super) fn identify(
        &self,
        release: WindowsRelease,
        hostname: &str,
    ) -> Result<(), ContainerError> {
        wine::identify(&self.prefix(), release, hostname, 1)
            .map_err(|problem| ContainerError::Internal(problem.what))
    }

    /// Creates the container's mounts as symlinks to the host's files.
    pub(super) fn link(&self, host_c: &Path, mounts: &[Mount]) -> Result<(), ContainerError> {
        // Outer mounts first, so that nested mounts end up inside them.
        let mut mounts: Vec<&Mount> = mounts.iter().collect();
        mounts.sort_by_key(|mount| mount.destination.split(['\\', '/']).count());
        for mount in mounts {
            let source = windows_paths::on_drive(host_c, &mount.source)?;
            if !source.exists() {
                return Err(ContainerError::NoSource(mount.source.clone()));
            }
            let target = self.free_path(&mount.destination)?;
            symlink(&source, &target).map_err(ContainerError::file("link", &target))?;
        }
        Ok(())
    }

    /// Creates the parent directories of a path and removes what is there.
    fn free_path(&self, destination: &str) -> Result<PathBuf, ContainerError> {
        let mut components = windows_paths::components(destination)?;
        let name = components.pop().unwrap_or_default();
        let mut dir = self.drive_c();
        let mut on_container_drive = true;
        for component in components {
            dir = windows_paths::entry(&dir, component);
            on_container_drive &= !dir.is_symlink();
            fs::create_dir_all(&dir).map_err(ContainerError::file("create", &dir))?;
        }
        let path = windows_paths::entry(&dir, name);
        let found = fs::symlink_metadata(&path);
        match found {
            Err(_) => Ok(path),
            // Behind a symlink are the host's files, which must not be removed.
            Ok(_) if !on_container_drive => Err(ContainerError::Occupied(destination.to_owned())),
            Ok(found) => {
                let removed = match found.is_dir() {
                    true => fs::remove_dir_all(&path),
                    false => fs::remove_file(&path),
                };
                removed.map_err(ContainerError::file("replace", &path))?;
                Ok(path)
            }
        }
    }

    /// Kills every process of the container and removes its files.
    pub(super) fn remove(&self) -> Result<(), ContainerError> {
        processes::kill(&self.marker())?;
        self.unmount()?;
        ignore_not_found(fs::remove_dir_all(&self.dir))
            .map_err(ContainerError::file("remove", &self.dir))?;
        // Fails unless this was the last container of the sandbox.
        if let Some(sandbox) = self.dir.parent() {
            let _ = fs::remove_dir(sandbox);
        }
        Ok(())
    }

    fn unmount(&self) -> Result<(), ContainerError> {
        let prefix = self.prefix();
        let unmounted = wait::until(UNMOUNT_TIMEOUT, || {
            match rustix::mount::unmount(&prefix, UnmountFlags::empty()) {
                Err(rustix::io::Errno::BUSY) => None,
                other => Some(other),
            }
        });
        // Another process still uses it: detach now, the kernel unmounts it later.
        let outcome =
            unmounted.unwrap_or_else(|| rustix::mount::unmount(&prefix, UnmountFlags::DETACH));
        match outcome {
            Ok(()) | Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOENT) => Ok(()),
            Err(error) => Err(ContainerError::File("unmount", prefix, error.into())),
        }
    }
}

pub(super) fn containers_of(
    config: &ContainersConfig,
    sandbox: &str,
) -> Result<Vec<String>, ContainerError> {
    names_in(&config.work_dir.join(check_id(sandbox)?))
}

pub(super) fn sandboxes(config: &ContainersConfig) -> Result<Vec<String>, ContainerError> {
    names_in(&config.work_dir)
}

fn names_in(dir: &Path) -> Result<Vec<String>, ContainerError> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(ContainerError::File("list", dir.to_owned(), error)),
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    Ok(names.filter_map(|name| name.into_string().ok()).collect())
}

/// Accepts ids that are safe as a directory name and in mount options.
pub(super) fn check_id(id: &str) -> Result<&str, ContainerError> {
    let safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if id.is_empty() || id.starts_with('.') || !id.bytes().all(safe) {
        return Err(ContainerError::BadId(id.to_owned()));
    }
    Ok(id)
}

fn ignore_not_found(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive() -> (tempfile::TempDir, OverlayDrive, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let drive = OverlayDrive {
            dir: dir.path().join("container"),
        };
        fs::create_dir_all(drive.drive_c()).unwrap();
        let host = dir.path().join("host");
        fs::create_dir_all(host.join("var/lib/kubelet/pods/p/volumes")).unwrap();
        (dir, drive, host)
    }

    fn mount(source: &str, destination: &str) -> Mount {
        Mount {
            source: source.to_owned(),
            destination: destination.to_owned(),
        }
    }

    #[test]
    fn mount_replaces_files_of_the_image() {
        let (_dir, drive, host) = drive();
        fs::write(host.join("var/lib/hosts"), "127.0.0.1 localhost").unwrap();
        fs::create_dir_all(drive.drive_c().join("Windows/System32")).unwrap();
        fs::write(drive.drive_c().join("Windows/System32/hosts"), "").unwrap();

        drive
            .link(
                &host,
                &[mount(r"C:\var\lib\hosts", r"C:\windows\system32\Hosts")],
            )
            .unwrap();

        let seen = fs::read_to_string(drive.drive_c().join("Windows/System32/hosts")).unwrap();
        assert_eq!(seen, "127.0.0.1 localhost");
    }

    #[test]
    fn nested_mount_keeps_files_of_the_host() {
        let (_dir, drive, host) = drive();
        let volumes = r"c:\var\lib\kubelet\pods\p\volumes";
        fs::create_dir(host.join("var/lib/kubelet/pods/p/volumes/inner")).unwrap();

        let mounts = [mount(volumes, r"C:\data\inner"), mount(volumes, r"C:\data")];
        let result = drive.link(&host, &mounts);

        assert!(matches!(result, Err(ContainerError::Occupied(_))));
        assert!(host.join("var/lib/kubelet/pods/p/volumes/inner").is_dir());
    }

    #[test]
    fn mount_with_missing_source_is_rejected() {
        let (_dir, drive, host) = drive();
        let result = drive.link(&host, &[mount(r"C:\nowhere", r"C:\data")]);
        assert!(matches!(result, Err(ContainerError::NoSource(_))));
    }

    #[test]
    fn unsafe_ids_are_rejected() {
        for id in ["", ".", "..", "a/b", "a,upperdir=b", "a:b"] {
            assert!(check_id(id).is_err(), "{id}");
        }
        assert!(check_id("0a1b-web_1.2").is_ok());
    }
}
