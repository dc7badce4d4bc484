//! A new file, whole or not at all.

use std::io::Write;
use std::path::Path;

use casement_diag::Problem;

use crate::failure::CommandError;
use crate::whole_file;

/// Whether a file may be written, before any work is done for it.
pub fn check(path: &Path, force: bool) -> Result<(), CommandError> {
    if path.as_os_str() == "-" || force || std::fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    Err(there_already(path))
}

fn there_already(path: &Path) -> CommandError {
    CommandError::usage(Problem::new(
        "CAS-INIT-005",
        format!("`{}` is there already", path.display()),
        "name another with --out FILE, print it with --out -, or replace it with --force",
    ))
}

/// Writes it beside its place and moves it there, so that nobody sees half of
/// it. Without `force` a file that appeared in the meantime is kept.
pub fn write(path: &Path, text: &str, force: bool) -> Result<(), CommandError> {
    if path.as_os_str() == "-" {
        let mut output = std::io::stdout().lock();
        let done = output
            .write_all(text.as_bytes())
            .and_then(|()| output.flush());
        return done.map_err(|error| failed(path, &error));
    }
    let file = whole_file::beside(path, text.as_bytes());
    let file = file.map_err(|error| failed(path, &error))?;
    let kept = match force {
        true => file.persist(path),
        false => file.persist_noclobber(path),
    };
    match kept {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(there_already(path))
        }
        Err(error) => Err(failed(path, &error.error)),
    }
}

fn failed(path: &Path, error: &std::io::Error) -> CommandError {
    let what = format!("`{}` cannot be written", path.display());
    let remedy = "name a file in a folder of yours with --out FILE";
    CommandError::from(Problem::new("CAS-INIT-006", what, remedy).seen("it says", error))
}
