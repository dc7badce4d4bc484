//! Checks that this process is root, and that only root can change what it trusts: the
//! directories above its program and its state.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use casement_resource::{Code, Failure};

use super::system_failure;
use crate::platform::Result;

const STICKY: u32 = 0o1000;

/// Requires root, and a program that only root can replace.
pub fn check_privileges() -> Result<()> {
    let user = rustix::process::geteuid();
    if !user.is_root() {
        return Err(Failure::new(
            Code::NotElevated,
            format!(
                "casement-node runs as user {}, which is not allowed to change this host",
                user.as_raw()
            ),
            "log in as root: set `access.ssh.user: root`",
        )
        .values("user 0 (root)", format!("user {}", user.as_raw())));
    }
    let program = std::env::current_exe()
        .map_err(|error| system_failure("the path of the agent's executable is unknown", &error))?;
    check(&program, &program)?;
    check_parent_dirs(&program)
}

/// Rejects a path if another user owns a directory above it or can replace one. The path
/// itself is not checked.
pub fn check_parent_dirs(path: &Path) -> Result<()> {
    for dir in path.ancestors().skip(1) {
        check(path, dir)?;
    }
    // Symbolic links: the directories above their targets count too.
    let mut parent = path.parent();
    while let Some(dir) = parent {
        if let Ok(real) = fs::canonicalize(dir) {
            return real.ancestors().try_for_each(|dir| check(path, dir));
        }
        parent = dir.parent();
    }
    Ok(())
}

fn check(path: &Path, parent: &Path) -> Result<()> {
    let metadata = match fs::symlink_metadata(parent) {
        Ok(metadata) => metadata,
        // Will be created by this process.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            let what = format!("failed to inspect `{}`", parent.display());
            return Err(system_failure(what, &error));
        }
    };
    let mode = metadata.mode();
    let owner_trusted =
        metadata.uid() == 0 || metadata.uid() == rustix::process::geteuid().as_raw();
    let writable_by_others = mode & 0o002 != 0 || (mode & 0o020 != 0 && metadata.gid() != 0);
    // In a sticky directory everyone can create entries, but replace only their own.
    let protected =
        metadata.is_symlink() || !writable_by_others || (metadata.is_dir() && mode & STICKY != 0);
    if owner_trusted && protected {
        return Ok(());
    }
    Err(Failure::new(
        Code::Untrusted,
        format!(
            "`{}` cannot be trusted: other users can change `{}`",
            path.display(),
            parent.display()
        ),
        format!(
            "check its content, then run `chown root:root` and `chmod go-w` on `{}`",
            parent.display()
        ),
    )
    .values(
        "owned by root, writable by root only",
        format!(
            "{:04o} {}:{}",
            mode & 0o7777,
            metadata.uid(),
            metadata.gid()
        ),
    ))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn dir(mode: u32) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), Permissions::from_mode(mode)).unwrap();
        dir
    }

    #[test]
    fn world_writable_dir_is_rejected_unless_sticky() {
        for (mode, trusted) in [(0o700, true), (0o755, true), (0o777, false), (0o1777, true)] {
            let dir = dir(mode);
            let checked = check_parent_dirs(&dir.path().join("not/there/yet"));
            assert_eq!(checked.is_ok(), trusted, "{mode:o}: {checked:?}");
        }
        let dir = dir(0o777);
        let failure = check_parent_dirs(&dir.path().join("x")).unwrap_err();
        assert_eq!(failure.code, Code::Untrusted);
        assert!(failure.found.unwrap().starts_with("0777 "));
    }

    #[test]
    fn symlink_target_is_checked() {
        let (open, closed) = (dir(0o777), dir(0o700));
        fs::create_dir(open.path().join("inside")).unwrap();
        let link = closed.path().join("link");
        symlink(open.path().join("inside"), &link).unwrap();
        let failure = check_parent_dirs(&link.join("state")).unwrap_err();
        let named = open.path().display().to_string();
        assert!(failure.message.contains(&named), "{failure}");
    }
}
