//! The template Wine prefix: the lower overlay layer of every host and container.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use crate::command;
use crate::control_plane::binaries::killed_with_parent;
use crate::host::rootfs::{self, Rootfs, inside};
use crate::problem::{self, AtPath, Problem, Result};
use crate::progress::LabProgress;
use crate::state::space;
use crate::wine;
use crate::wine::windows_programs;

/// Increment when the result of [`wine::make_template`] changes.
const FORMAT: &str = "3";
/// Disk space for one prefix in bytes, with some reserve.
const SPACE_NEEDED: u64 = 2 << 30;

/// Creates the template if it is missing; returns its path.
pub fn ensure(cache: &Path, windows: &Path, progress: &LabProgress) -> Result<PathBuf> {
    let dir = cache.join("template");
    let prefix = dir.join(key(windows)?);
    if prefix.exists() {
        touch(&prefix);
        return Ok(prefix);
    }
    remove_stale(&dir);
    space::check(&dir, SPACE_NEEDED)?;
    progress.step(
        "creating the Windows template",
        "first time only, about 15 s",
        || {
            fs::create_dir_all(&dir).at("create", &dir)?;
            let work = dir.join(".work");
            remove(&work)?;
            let new = work.join("prefix");
            fs::create_dir_all(&new).at("create", &new)?;
            build(&work, windows)?;
            fs::rename(&new, &prefix).at("write", &prefix)?;
            remove(&work)
        },
    )?;
    Ok(prefix)
}

/// A template that was unused for this long belongs to an older build.
const MAX_AGE: Duration = Duration::from_secs(7 * 24 * 3600);

/// Updates the modification time, by which unused templates are found. A failure
/// only causes a rebuild later.
fn touch(prefix: &Path) {
    if let Ok(dir) = fs::File::open(prefix) {
        let _ = dir.set_modified(SystemTime::now());
    }
}

/// Templates are large, and every change of a Windows program creates a new one.
fn remove_stale(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let age = entry.metadata().and_then(|it| it.modified()).ok();
        let age = age.and_then(|time| time.elapsed().ok());
        if age.is_some_and(|age| age > MAX_AGE) {
            // Retried next time.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(problem::file("remove", path, &error))
        }
        _ => Ok(()),
    }
}

fn key(windows: &Path) -> Result<String> {
    let version = command::output(&mut command::command(wine::loader(), ["--version"]))?;
    let mut hash = Sha256::new();
    hash.update(FORMAT);
    hash.update(version);
    for name in windows_programs::PROGRAMS {
        let path = windows.join(name);
        hash.update(fs::read(&path).at("read", &path)?);
    }
    let hex: String = hash.finalize().iter().map(|b| format!("{b:02x}")).collect();
    Ok(hex[..16].to_owned())
}

fn build(work: &Path, windows: &Path) -> Result<()> {
    let program = std::env::current_exe().at("find", Path::new("/proc/self/exe"))?;
    let mut build = killed_with_parent("unshare");
    build.args(["--net", "--mount", "--uts", "--ipc", "--mount-proc", "--"]);
    build.arg(program).args(["lab", "template"]);
    build.arg("--work").arg(work).arg("--windows").arg(windows);
    command::run(&mut build).map_err(|problem| Problem {
        code: "CAS-LAB-055".into(),
        what: "Wine failed to create a prefix".to_owned(),
        help: "check that `wine cmd /c ver` works on this machine".to_owned(),
        ..problem
    })
}

/// Runs in its own namespaces as `casement lab template`.
pub fn build_inside(work: &Path, windows: &Path) -> Result<()> {
    rootfs::enter(&Rootfs {
        dir: work.to_owned(),
        shared: vec![
            (work.join("prefix"), inside::PREFIX),
            (windows.to_owned(), inside::WINDOWS),
        ],
    })?;
    command::run(&mut command::command("hostname", ["windows"]))?;
    // The user name becomes the name of the profile directory.
    let passwd = "Administrator:*:0:0::/root:/bin/sh\n";
    fs::write("/etc/passwd", passwd).at("write", Path::new("/etc/passwd"))?;
    wine::make_template(Path::new(inside::PREFIX), Path::new(inside::WINDOWS))
}
