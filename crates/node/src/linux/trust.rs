//! Whether this process is root, and whether nobody else can change what it
//! trusts: the folders on the way to its program and to its state.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use casement_resource::{Code, Failure};

use super::system_failure;
use crate::platform::Result;

const STICKY: u32 = 0o1000;

/// Root, running a program that only root could have put there.
pub fn check_standing() -> Result<()> {
    let user = rustix::process::geteuid();
    if !user.is_root() {
        return Err(Failure::new(
            Code::NotElevated,
            format!(
                "casement-node runs as user {}, who may not change this host",
                user.as_raw()
            ),
            "log in as root, or as somebody who may run `sudo -n` (`access.ssh.sudo`)",
        )
        .values("user 0 (root)", format!("user {}", user.as_raw())));
    }
    let program = std::env::current_exe()
        .map_err(|error| system_failure("the agent's own program cannot be found", &error))?;
    check(&program, &program)?;
    check_way(&program)
}

/// Refuses a place if somebody else owns a folder on the way to it, or may put
/// another in its place. What is at the place itself is not looked at.
pub fn check_way(place: &Path) -> Result<()> {
    for folder in place.ancestors().skip(1) {
        check(place, folder)?;
    }
    // Where links lead: their targets have ways of their own.
    let mut there = place.parent();
    while let Some(folder) = there {
        if let Ok(real) = fs::canonicalize(folder) {
            return real.ancestors().try_for_each(|folder| check(place, folder));
        }
        there = folder.parent();
    }
    Ok(())
}

fn check(place: &Path, on_the_way: &Path) -> Result<()> {
    let seen = match fs::symlink_metadata(on_the_way) {
        Ok(seen) => seen,
        // What is not there yet is made by us.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            let what = format!("`{}` could not be looked at", on_the_way.display());
            return Err(system_failure(what, &error));
        }
    };
    let mode = seen.mode();
    let owned = seen.uid() == 0 || seen.uid() == rustix::process::geteuid().as_raw();
    let others = mode & 0o002 != 0 || (mode & 0o020 != 0 && seen.gid() != 0);
    // In a sticky folder everybody may make names, and replace only their own.
    let kept = seen.is_symlink() || !others || (seen.is_dir() && mode & STICKY != 0);
    if owned && kept {
        return Ok(());
    }
    Err(Failure::new(
        Code::Untrusted,
        format!(
            "`{}` cannot be trusted: others may change `{}`",
            place.display(),
            on_the_way.display()
        ),
        format!(
            "look at what is in it; then `chown root:root` and `chmod go-w` `{}`",
            on_the_way.display()
        ),
    )
    .values(
        "owned by root, writable by nobody else",
        format!("{:04o} {}:{}", mode & 0o7777, seen.uid(), seen.gid()),
    ))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn folder(mode: u32) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
        folder
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_refused_unless_it_is_sticky() {
        for (mode, trusted) in [(0o700, true), (0o755, true), (0o777, false), (0o1777, true)] {
            let folder = folder(mode);
            let checked = check_way(&folder.path().join("not/there/yet"));
            assert_eq!(checked.is_ok(), trusted, "{mode:o}: {checked:?}");
        }
        let folder = folder(0o777);
        let failure = check_way(&folder.path().join("x")).unwrap_err();
        assert_eq!(failure.code, Code::Untrusted);
        assert!(failure.found.unwrap().starts_with("0777 "));
    }

    #[test]
    fn a_link_is_followed_to_where_it_leads() {
        let (open, closed) = (folder(0o777), folder(0o700));
        fs::create_dir(open.path().join("inside")).unwrap();
        let link = closed.path().join("link");
        symlink(open.path().join("inside"), &link).unwrap();
        let failure = check_way(&link.join("state")).unwrap_err();
        let named = open.path().display().to_string();
        assert!(failure.what.contains(&named), "{failure}");
    }
}
