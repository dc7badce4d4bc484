//! A root directory of its own for every host.
//!
//! Programs and settings come from the machine; what a host writes stays in
//! the lab's folder or in its memory. After [`furnish`] the machine's own root
//! is not even visible any more, so that nothing in a host, whoever logs in
//! there, can write outside the lab.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::command::{self, command};
use crate::problem::{AtPath, Result};
use crate::state::record::{Host, Record, host_folder};

/// Where a host finds what is the lab's.
pub mod inside {
    /// The lab's copy of casement.
    pub const PROGRAM: &str = "/lab/bin/casement";
    /// The host's own folder (logs, keys, state).
    pub const HOST: &str = "/lab/host";
    /// What was built: `linux` and `windows`.
    pub const PARTS: &str = "/lab/parts";
    /// Our own Windows programs.
    pub const WINDOWS: &str = "/lab/windows";
    /// The clean Wine prefix.
    pub const TEMPLATE: &str = "/lab/template";
    /// The host's Wine prefix.
    pub const PREFIX: &str = "/lab/prefix";
    /// Files that all hosts of the lab share (keys, certificates).
    pub const SHARED: &str = "/lab/shared";
}

/// What a root directory is made from.
#[derive(Debug)]
pub struct Room {
    /// The folder outside that keeps what is written.
    pub folder: PathBuf,
    /// Folders outside, and where they are seen inside.
    pub shared: Vec<(PathBuf, &'static str)>,
}

impl Room {
    /// The room of a lab's host.
    pub fn of_host(record: &Record, lab: &Path, host: &Host) -> Self {
        let folder = host_folder(lab, &host.name);
        let mut shared = vec![
            (lab.join("bin"), "/lab/bin"),
            (lab.join("shared"), inside::SHARED),
            (folder.clone(), inside::HOST),
        ];
        let built = [
            (&record.parts, inside::PARTS),
            (&record.windows, inside::WINDOWS),
            (&record.template, inside::TEMPLATE),
        ];
        shared.extend(
            built
                .into_iter()
                .filter_map(|(source, target)| Some((source.clone()?, target))),
        );
        Self { folder, shared }
    }
}

/// Gives this process (the first of a capsule) its new root directory.
pub fn furnish(room: &Room) -> Result<()> {
    let folder = &room.folder;
    let root = folder.join("root");
    make(&root)?;
    mount(&["-t", "tmpfs", "-o", "mode=0755", "tmpfs"], &root)?;
    layered(folder, &root, "usr")?;
    layered(folder, &root, "etc")?;
    for name in ["bin", "sbin", "lib", "lib32", "lib64", "libx32"] {
        like_the_machine(&root, name)?;
    }
    kept(folder, &root, "var")?;
    kept(folder, &root, "root")?;
    for name in ["tmp", "run/sshd", "run/netns", "proc", "sys", "old"] {
        make(&root.join(name))?;
    }
    mount(&["-t", "proc", "proc"], &root.join("proc"))?;
    mount(&["-t", "sysfs", "sysfs"], &root.join("sys"))?;
    bound(Path::new("/dev"), &root.join("dev"))?;
    for (source, target) in &room.shared {
        bound(source, &root.join(target.trim_start_matches('/')))?;
    }
    enter(&root)
}

fn make(path: &Path) -> Result<()> {
    fs::create_dir_all(path).at("make", path)
}

fn mount(what: &[&str], target: &Path) -> Result<()> {
    command::run(command("mount", what).arg(target))
}

/// The machine's folder to read; what is written goes to the host's folder.
fn layered(folder: &Path, root: &Path, name: &str) -> Result<()> {
    let upper = folder.join("written").join(name);
    let work = folder.join("written").join(format!("{name}.work"));
    let target = root.join(name);
    for path in [&upper, &work, &target] {
        make(path)?;
    }
    overlay(Path::new("/").join(name).as_path(), &upper, &work, &target)
}

/// An overlay mount: `lower` to read, `upper` for what is written.
pub fn overlay(lower: &Path, upper: &Path, work: &Path, target: &Path) -> Result<()> {
    let options = format!(
        "lowerdir={},upperdir={},workdir={}",
        lower.display(),
        upper.display(),
        work.display()
    );
    mount(&["-t", "overlay", "-o", &options, "overlay"], target)
}

/// `/bin` and its kin: links where the machine has links, else the folder.
fn like_the_machine(root: &Path, name: &str) -> Result<()> {
    let source = Path::new("/").join(name);
    let target = root.join(name);
    if let Ok(link) = fs::read_link(&source) {
        return symlink(link, &target).at("make", &target);
    }
    if !source.is_dir() {
        return Ok(());
    }
    bound(&source, &target)?;
    mount(&["-o", "remount,bind,ro"], &target)
}

/// A folder that begins empty and is kept with the host.
fn kept(folder: &Path, root: &Path, name: &str) -> Result<()> {
    let source = folder.join("written").join(name);
    make(&source)?;
    bound(&source, &root.join(name))
}

fn bound(source: &Path, target: &Path) -> Result<()> {
    make(target)?;
    command::run(command("mount", ["--rbind"]).arg(source).arg(target))
}

fn enter(root: &Path) -> Result<()> {
    command::run(&mut command("pivot_root", [root, &root.join("old")]))?;
    std::env::set_current_dir("/").at("enter", Path::new("/"))?;
    command::run(&mut command("umount", ["--recursive", "--lazy", "/old"]))
}
