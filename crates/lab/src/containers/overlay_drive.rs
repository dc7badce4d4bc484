//! A container's drive C: an overlay on the clean prefix.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lab_wire::container::{ContainerKey, Mount};
use rustix::mount::{MountFlags, UnmountFlags};

use super::{ContainerError, ContainersConfig, census, paths};
use crate::wine::windows::WindowsRelease;
use crate::{wait, wine};

/// How long an overlay may stay busy after its last process has ended.
const PATIENCE: Duration = Duration::from_secs(5);

/// The program that starts all others in a container.
const ENTER: &str = "drive_c/lab/enter.exe";

/// The folders of one container.
#[derive(Debug, Clone)]
pub(super) struct Drive {
    folder: PathBuf,
}

impl Drive {
    /// Where a container's drive is, or would be.
    pub(super) fn at(
        config: &ContainersConfig,
        key: &ContainerKey,
    ) -> Result<Self, ContainerError> {
        let folder = config.work_dir.join(plain(&key.sandbox)?);
        Ok(Self {
            folder: folder.join(plain(&key.container)?),
        })
    }

    /// The Wine prefix: the mounted overlay.
    pub(super) fn prefix(&self) -> PathBuf {
        self.folder.join("prefix")
    }

    /// What Linux calls the container's `C:\`.
    pub(super) fn drive_c(&self) -> PathBuf {
        self.prefix().join("drive_c")
    }

    /// What all processes of the container have in their environment.
    pub(super) fn marker(&self) -> String {
        format!("WINEPREFIX={}", self.prefix().display())
    }

    /// Mounts the overlay.
    pub(super) fn mount(&self, template: &Path) -> Result<(), ContainerError> {
        if !template.join(ENTER).is_file() {
            return Err(ContainerError::Template(template.join(ENTER)));
        }
        let (upper, work) = (self.folder.join("upper"), self.folder.join("work"));
        for folder in [&upper, &work, &self.prefix()] {
            fs::create_dir_all(folder).map_err(ContainerError::file("create", folder))?;
        }
        let options = format!(
            "lowerdir={},upperdir={},workdir={}",
            template.display(),
            upper.display(),
            work.display()
        );
        // A NUL cannot be in the options: paths have none.
        let options = std::ffi::CString::new(options)
            .map_err(|error| ContainerError::Broken(error.to_string()))?;
        rustix::mount::mount(
            "overlay",
            self.prefix(),
            "overlay",
            MountFlags::empty(),
            options.as_c_str(),
        )
        .map_err(|error| ContainerError::Overlay(self.prefix(), error.into()))
    }

    /// Makes its programs see the host's Windows.
    pub(super) fn identify(
        &self,
        release: WindowsRelease,
        hostname: &str,
    ) -> Result<(), ContainerError> {
        wine::identify(&self.prefix(), release, hostname, 1)
            .map_err(|problem| ContainerError::Broken(problem.what))
    }

    /// Puts the host's files and folders where the container expects them.
    pub(super) fn link(&self, host_c: &Path, mounts: &[Mount]) -> Result<(), ContainerError> {
        // Outer ones first, so that a mount inside another lands in it.
        let mut mounts: Vec<&Mount> = mounts.iter().collect();
        mounts.sort_by_key(|mount| mount.destination.split(['\\', '/']).count());
        for mount in mounts {
            let source = paths::on_drive(host_c, &mount.source)?;
            if !source.exists() {
                return Err(ContainerError::NoSource(mount.source.clone()));
            }
            let place = self.place(&mount.destination)?;
            symlink(&source, &place).map_err(ContainerError::file("link", &place))?;
        }
        Ok(())
    }

    /// A free place on the drive, its parents made.
    fn place(&self, destination: &str) -> Result<PathBuf, ContainerError> {
        let mut parts = paths::parts(destination)?;
        let name = parts.pop().unwrap_or_default();
        let mut folder = self.drive_c();
        let mut ours = true;
        for part in parts {
            folder = paths::entry(&folder, part);
            ours &= !folder.is_symlink();
            fs::create_dir_all(&folder).map_err(ContainerError::file("create", &folder))?;
        }
        let place = paths::entry(&folder, name);
        let found = fs::symlink_metadata(&place);
        match found {
            Err(_) => Ok(place),
            // Behind a link is the host, where nothing may be removed.
            Ok(_) if !ours => Err(ContainerError::Taken(destination.to_owned())),
            Ok(found) => {
                let removed = match found.is_dir() {
                    true => fs::remove_dir_all(&place),
                    false => fs::remove_file(&place),
                };
                removed.map_err(ContainerError::file("replace", &place))?;
                Ok(place)
            }
        }
    }

    /// Ends every process of the container and removes all traces of it.
    pub(super) fn remove(&self) -> Result<(), ContainerError> {
        census::end(&self.marker())?;
        self.unmount()?;
        removed(fs::remove_dir_all(&self.folder))
            .map_err(ContainerError::file("remove", &self.folder))?;
        // The sandbox's folder goes with its last container.
        if let Some(sandbox) = self.folder.parent() {
            let _ = fs::remove_dir(sandbox);
        }
        Ok(())
    }

    fn unmount(&self) -> Result<(), ContainerError> {
        let prefix = self.prefix();
        let quiet = wait::until(PATIENCE, || {
            match rustix::mount::unmount(&prefix, UnmountFlags::empty()) {
                Err(rustix::io::Errno::BUSY) => None,
                other => Some(other),
            }
        });
        // Somebody else looks into it: out of sight now, gone when they leave.
        let outcome =
            quiet.unwrap_or_else(|| rustix::mount::unmount(&prefix, UnmountFlags::DETACH));
        match outcome {
            Ok(()) | Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOENT) => Ok(()),
            Err(error) => Err(ContainerError::File("unmount", prefix, error.into())),
        }
    }
}

/// The ids of a sandbox's containers.
pub(super) fn containers_of(
    config: &ContainersConfig,
    sandbox: &str,
) -> Result<Vec<String>, ContainerError> {
    names_in(&config.work_dir.join(plain(sandbox)?))
}

/// The ids of all sandboxes that have a container.
pub(super) fn sandboxes(config: &ContainersConfig) -> Result<Vec<String>, ContainerError> {
    names_in(&config.work_dir)
}

fn names_in(folder: &Path) -> Result<Vec<String>, ContainerError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(ContainerError::File("list", folder.to_owned(), error)),
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    Ok(names.filter_map(|name| name.into_string().ok()).collect())
}

/// An id that is safe as the name of a folder, and in the options of a mount.
pub(super) fn plain(id: &str) -> Result<&str, ContainerError> {
    let safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if id.is_empty() || id.starts_with('.') || !id.bytes().all(safe) {
        return Err(ContainerError::BadId(id.to_owned()));
    }
    Ok(id)
}

/// Nothing to remove is as good as removed.
fn removed(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive() -> (tempfile::TempDir, Drive, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let drive = Drive {
            folder: folder.path().join("container"),
        };
        fs::create_dir_all(drive.drive_c()).unwrap();
        let host = folder.path().join("host");
        fs::create_dir_all(host.join("var/lib/kubelet/pods/p/volumes")).unwrap();
        (folder, drive, host)
    }

    fn mount(source: &str, destination: &str) -> Mount {
        Mount {
            source: source.to_owned(),
            destination: destination.to_owned(),
        }
    }

    #[test]
    fn a_mount_replaces_what_the_image_had_there() {
        let (_folder, drive, host) = drive();
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
    fn a_mount_inside_a_mount_never_removes_from_the_host() {
        let (_folder, drive, host) = drive();
        let volumes = r"c:\var\lib\kubelet\pods\p\volumes";
        fs::create_dir(host.join("var/lib/kubelet/pods/p/volumes/inner")).unwrap();

        let mounts = [mount(volumes, r"C:\data\inner"), mount(volumes, r"C:\data")];
        let refused = drive.link(&host, &mounts);

        assert!(matches!(refused, Err(ContainerError::Taken(_))));
        assert!(host.join("var/lib/kubelet/pods/p/volumes/inner").is_dir());
    }

    #[test]
    fn a_mount_from_nothing_is_refused() {
        let (_folder, drive, host) = drive();
        let refused = drive.link(&host, &[mount(r"C:\nowhere", r"C:\data")]);
        assert!(matches!(refused, Err(ContainerError::NoSource(_))));
    }

    #[test]
    fn ids_cannot_lead_elsewhere() {
        for id in ["", ".", "..", "a/b", "a,upperdir=b", "a:b"] {
            assert!(plain(id).is_err(), "{id}");
        }
        assert!(plain("0a1b-web_1.2").is_ok());
    }
}
