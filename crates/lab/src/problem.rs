//! Lab errors; every file error names the path.

use std::io;
use std::path::Path;

pub use casement_diag::Problem;

pub type Result<T, E = Problem> = std::result::Result<T, E>;

/// A failed file operation; a full disk has its own code and help.
pub fn file(verb: &str, path: &Path, error: &io::Error) -> Problem {
    if error.kind() == io::ErrorKind::StorageFull {
        return Problem::new(
            "CAS-LAB-011",
            format!("the disk is full: failed to {verb} `{}`", path.display()),
            "free some space (the first build needs about 10 GB) and run the command again; \
             finished builds are kept",
        )
        .detail("cause", error);
    }
    Problem::new(
        "CAS-LAB-010",
        format!("failed to {verb} `{}`", path.display()),
        "check that the directory exists and is writable",
    )
    .detail("cause", error)
}

/// A port that a process in a host of the lab listens on.
pub fn port(what: &str, port: u16, error: &io::Error) -> Problem {
    Problem::new(
        "CAS-LAB-022",
        format!("failed to open port {port} for {what}"),
        "end the process of the host that uses the port (`ss -ltnp`), and reboot the host",
    )
    .detail("cause", error)
}

/// `flock` failed, but not because another process holds the lock.
pub fn lock(dir: &Path, error: &io::Error) -> Problem {
    Problem::new(
        "CAS-LAB-023",
        format!("failed to lock the directory `{}`", dir.display()),
        "use a local file system: set XDG_STATE_HOME and XDG_CACHE_HOME to directories there",
    )
    .detail("cause", error)
}

/// A failure that does not depend on the user or the files of the lab.
pub fn internal(what: &str, error: &dyn std::error::Error) -> Problem {
    let what = format!("failed to {what}");
    Problem::new("CAS-LAB-024", what, "report this as a bug").detail("cause", error)
}

/// Adds the path to I/O errors.
pub trait AtPath<T> {
    fn at(self, verb: &str, path: &Path) -> Result<T>;
}

impl<T> AtPath<T> for io::Result<T> {
    fn at(self, verb: &str, path: &Path) -> Result<T> {
        self.map_err(|error| file(verb, path, &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_are_reported_as_files() {
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let problem = file("write", Path::new("/srv/lab.json"), &denied);
        assert_eq!(problem.code, "CAS-LAB-010");
        for other in [
            port("netd", 4020, &io::ErrorKind::AddrInUse.into()),
            lock(Path::new("/srv/lab"), &io::ErrorKind::Unsupported.into()),
            internal("encode lab.json", &denied),
        ] {
            assert_ne!(other.code, problem.code, "{other}");
            assert!(!other.help.contains("writable"), "{other}");
        }
    }
}
