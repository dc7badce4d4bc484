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

/// Adds the path to I/O errors.
pub trait AtPath<T> {
    fn at(self, verb: &str, path: &Path) -> Result<T>;
}

impl<T> AtPath<T> for io::Result<T> {
    fn at(self, verb: &str, path: &Path) -> Result<T> {
        self.map_err(|error| file(verb, path, &error))
    }
}
