//! Problems of the lab: a path in every one that is about a file.

use std::io;
use std::path::Path;

pub use casement_diag::Problem;

/// The result of everything in the lab.
pub type Result<T, E = Problem> = std::result::Result<T, E>;

/// A file operation that did not work; a full disk gets its own words.
pub fn file(verb: &str, path: &Path, error: &io::Error) -> Problem {
    if error.kind() == io::ErrorKind::StorageFull {
        return Problem::new(
            "CAS-LAB-011",
            format!("the disk is full: could not {verb} `{}`", path.display()),
            "free some space (the first build needs about 10 GB) and run the command again; \
             what was finished is kept",
        )
        .seen("it says", error);
    }
    Problem::new(
        "CAS-LAB-010",
        format!("could not {verb} `{}`", path.display()),
        "see whether the folder exists and may be written",
    )
    .seen("it says", error)
}

/// Gives file operations the path that they were about.
pub trait AtPath<T> {
    /// Turns an I/O error into a [`Problem`] that names the path.
    fn at(self, verb: &str, path: &Path) -> Result<T>;
}

impl<T> AtPath<T> for io::Result<T> {
    fn at(self, verb: &str, path: &Path) -> Result<T> {
        self.map_err(|error| file(verb, path, &error))
    }
}
