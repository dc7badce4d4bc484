//! Writes the new cluster file atomically.

use std::path::Path;

use casement_diag::Problem;

use crate::atomic_file;
use crate::failure::CommandError;
use crate::output;

/// Checked before any work is done.
pub fn check(path: &Path, force: bool) -> Result<(), CommandError> {
    if path.as_os_str() == "-" || force || std::fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    Err(exists(path))
}

fn exists(path: &Path) -> CommandError {
    CommandError::usage(Problem::new(
        "CAS-INIT-005",
        format!("`{}` already exists", path.display()),
        "choose another file with `--out FILE`, print it with `--out -`, or overwrite it with `--force`",
    ))
}

/// Without `force`, a file that was created in the meantime is kept.
pub fn write(path: &Path, text: &str, force: bool) -> Result<(), CommandError> {
    if path.as_os_str() == "-" {
        return output::print(text);
    }
    let file = atomic_file::write_temporary(path, text.as_bytes());
    let file = file.map_err(|error| failed(path, &error))?;
    let persisted = match force {
        true => file.persist(path),
        false => file.persist_noclobber(path),
    };
    match persisted {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => Err(exists(path)),
        Err(error) => Err(failed(path, &error.error)),
    }
}

fn failed(path: &Path, error: &std::io::Error) -> CommandError {
    let what = format!("failed to write `{}`", path.display());
    let help = "choose a file in a writable directory with `--out FILE`";
    CommandError::from(Problem::new("CAS-INIT-006", what, help).detail("cause", error))
}
