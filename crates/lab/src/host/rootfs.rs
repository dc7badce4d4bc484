//! The root file system of a host.
//!
//! Programs and settings come from this machine, read-only or below an overlay; what
//! a host writes stays in the lab's directory or in memory. After [`enter`] the
//! machine's own root is not visible, so a host cannot write outside the lab.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::command::{self, command};
use crate::problem::{AtPath, Result};
use crate::state::record::{Host, Record, host_dir};

/// Paths as seen inside a host.
pub mod inside {
    /// The lab's copy of casement.
    pub const PROGRAM: &str = "/lab/bin/casement";
    /// The host's own directory (logs, keys, state).
    pub const HOST: &str = "/lab/host";
    /// Kubernetes binaries, in `linux` and `windows`.
    pub const BINARIES: &str = "/lab/parts";
    /// The lab's Windows programs.
    pub const WINDOWS: &str = "/lab/windows";
    /// The template Wine prefix, read-only.
    pub const TEMPLATE: &str = "/lab/template";
    /// The host's Wine prefix.
    pub const PREFIX: &str = "/lab/prefix";
    /// Files that all hosts share (keys, certificates).
    pub const SHARED: &str = "/lab/shared";
}

#[derive(Debug)]
pub struct Rootfs {
    /// The directory on this machine for files that the host writes.
    pub dir: PathBuf,
    /// Bind mounts: directory on this machine, path inside.
    pub shared: Vec<(PathBuf, &'static str)>,
}

impl Rootfs {
    pub fn for_host(record: &Record, lab: &Path, host: &Host) -> Self {
        let dir = host_dir(lab, &host.name);
        let mut shared = vec![
            (lab.join("bin"), "/lab/bin"),
            (lab.join("shared"), inside::SHARED),
            (dir.clone(), inside::HOST),
        ];
        let built = [
            (&record.binaries, inside::BINARIES),
            (&record.windows, inside::WINDOWS),
            (&record.template, inside::TEMPLATE),
        ];
        shared.extend(
            built
                .into_iter()
                .filter_map(|(source, target)| Some((source.clone()?, target))),
        );
        Self { dir, shared }
    }
}

/// Builds the root file system and makes it the root of this process, which must be
/// the first in its mount namespace.
pub fn enter(rootfs: &Rootfs) -> Result<()> {
    let dir = &rootfs.dir;
    let root = dir.join("root");
    create_dir(&root)?;
    mount(&["-t", "tmpfs", "-o", "mode=0755", "tmpfs"], &root)?;
    mount_overlay(dir, &root, "usr")?;
    mount_overlay(dir, &root, "etc")?;
    for name in ["bin", "sbin", "lib", "lib32", "lib64", "libx32"] {
        copy_or_bind(&root, name)?;
    }
    bind_persistent(dir, &root, "var")?;
    bind_persistent(dir, &root, "root")?;
    for name in ["tmp", "run/sshd", "run/netns", "proc", "sys", "old"] {
        create_dir(&root.join(name))?;
    }
    mount(&["-t", "proc", "proc"], &root.join("proc"))?;
    mount(&["-t", "sysfs", "sysfs"], &root.join("sys"))?;
    bind(Path::new("/dev"), &root.join("dev"))?;
    for (source, target) in &rootfs.shared {
        bind(source, &root.join(target.trim_start_matches('/')))?;
    }
    pivot(&root)
}

fn create_dir(path: &Path) -> Result<()> {
    fs::create_dir_all(path).at("create", path)
}

fn mount(what: &[&str], target: &Path) -> Result<()> {
    command::run(command("mount", what).arg(target))
}

/// This machine's directory, with changes written to the host's directory.
fn mount_overlay(dir: &Path, root: &Path, name: &str) -> Result<()> {
    let upper = dir.join("written").join(name);
    let work = dir.join("written").join(format!("{name}.work"));
    let target = root.join(name);
    for path in [&upper, &work, &target] {
        create_dir(path)?;
    }
    overlay(Path::new("/").join(name).as_path(), &upper, &work, &target)
}

/// Mounts an overlay; `lower` is read-only, changes go to `upper`.
pub fn overlay(lower: &Path, upper: &Path, work: &Path, target: &Path) -> Result<()> {
    let options = format!(
        "lowerdir={},upperdir={},workdir={}",
        lower.display(),
        upper.display(),
        work.display()
    );
    mount(&["-t", "overlay", "-o", &options, "overlay"], target)
}

/// `/bin`, `/lib` and so on: a symlink where this machine has one, otherwise a
/// read-only bind mount.
fn copy_or_bind(root: &Path, name: &str) -> Result<()> {
    let source = Path::new("/").join(name);
    let target = root.join(name);
    if let Ok(link) = fs::read_link(&source) {
        return symlink(link, &target).at("create", &target);
    }
    if !source.is_dir() {
        return Ok(());
    }
    bind(&source, &target)?;
    mount(&["-o", "remount,bind,ro"], &target)
}

/// A directory that starts empty and survives reboots.
fn bind_persistent(dir: &Path, root: &Path, name: &str) -> Result<()> {
    let source = dir.join("written").join(name);
    create_dir(&source)?;
    bind(&source, &root.join(name))
}

fn bind(source: &Path, target: &Path) -> Result<()> {
    create_dir(target)?;
    command::run(command("mount", ["--rbind"]).arg(source).arg(target))
}

fn pivot(root: &Path) -> Result<()> {
    command::run(&mut command("pivot_root", [root, &root.join("old")]))?;
    std::env::set_current_dir("/").at("enter", Path::new("/"))?;
    command::run(&mut command("umount", ["--recursive", "--lazy", "/old"]))
}
