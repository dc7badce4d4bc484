//! The clean Wine prefix from which every host and every pod begins.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use crate::command;
use crate::control_plane::parts::killed_with_us;
use crate::host::furnish::{self, Room, inside};
use crate::problem::{self, AtPath, Problem, Result};
use crate::progress::Progress;
use crate::state::space;
use crate::wine;
use crate::wine::windows_parts;

/// Changes when what [`wine::make_template`] does changes.
const FORMAT: &str = "3";
/// What a clean prefix takes, with room to breathe.
const SPACE_NEEDED: u64 = 2 << 30;

/// Makes the template where it is missing, and says where it is.
pub fn ensure(cache: &Path, windows: &Path, progress: &Progress) -> Result<PathBuf> {
    let folder = cache.join("template");
    let prefix = folder.join(key(windows)?);
    if prefix.exists() {
        touch(&prefix);
        return Ok(prefix);
    }
    forget_old(&folder);
    space::check(&folder, SPACE_NEEDED)?;
    progress.step("Windows template", "once; about 15 s", || {
        fs::create_dir_all(&folder).at("make", &folder)?;
        let work = folder.join(".work");
        remove(&work)?;
        let made = work.join("prefix");
        fs::create_dir_all(&made).at("make", &made)?;
        build(&work, windows)?;
        fs::rename(&made, &prefix).at("write", &prefix)?;
        remove(&work)
    })?;
    Ok(prefix)
}

/// A template that nobody has used for this long was made for another build.
const KEEP: Duration = Duration::from_secs(7 * 24 * 3600);

/// Says that a template is in use; failing to say so costs a rebuild later.
fn touch(prefix: &Path) {
    if let Ok(folder) = fs::File::open(prefix) {
        let _ = folder.set_modified(SystemTime::now());
    }
}

/// Templates are large, and each change of a program of ours makes a new one.
fn forget_old(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let age = entry.metadata().and_then(|it| it.modified()).ok();
        let age = age.and_then(|time| time.elapsed().ok());
        if age.is_some_and(|age| age > KEEP) {
            // What cannot be removed now is tried again next time.
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
    for name in windows_parts::PROGRAMS {
        let path = windows.join(name);
        hash.update(fs::read(&path).at("read", &path)?);
    }
    let hex: String = hash.finalize().iter().map(|b| format!("{b:02x}")).collect();
    Ok(hex[..16].to_owned())
}

fn build(work: &Path, windows: &Path) -> Result<()> {
    let program = std::env::current_exe().at("find", Path::new("/proc/self/exe"))?;
    let mut build = killed_with_us("unshare");
    build.args(["--net", "--mount", "--uts", "--ipc", "--mount-proc", "--"]);
    build.arg(program).args(["lab", "template"]);
    build.arg("--work").arg(work).arg("--windows").arg(windows);
    command::run(&mut build).map_err(|problem| Problem {
        code: "CAS-LAB-055".into(),
        what: "Wine could not make a new prefix".to_owned(),
        remedy: "see whether `wine cmd /c ver` works on this machine".to_owned(),
        ..problem
    })
}

/// The part that runs in namespaces of its own, as `casement lab template`.
pub fn build_inside(work: &Path, windows: &Path) -> Result<()> {
    furnish::furnish(&Room {
        folder: work.to_owned(),
        shared: vec![
            (work.join("prefix"), inside::PREFIX),
            (windows.to_owned(), inside::WINDOWS),
        ],
    })?;
    command::run(&mut command::command("hostname", ["windows"]))?;
    // The user's name decides the name of the profile's folder.
    let passwd = "Administrator:*:0:0::/root:/bin/sh\n";
    fs::write("/etc/passwd", passwd).at("write", Path::new("/etc/passwd"))?;
    wine::make_template(Path::new(inside::PREFIX), Path::new(inside::WINDOWS))
}
