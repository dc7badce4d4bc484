//! Reads an Ansible inventory, with group_vars and host_vars next to it.

use std::fs;
use std::path::Path;

use casement_diag::{Diagnostic, Problem, render, summary};
use casement_source::import::ansible::{self, InventoryResult};
use casement_source::import::{Draft, TextFile, from_inventory};

use crate::failure::CommandError;
use crate::output;

/// A limit against reading the wrong directory.
const MAX_FILES: usize = 5000;
/// The parser rejects larger files anyway.
const MAX_BYTES: u64 = 8 << 20;

/// Prints all findings; fails if there are errors.
pub fn draft(path: &Path) -> Result<Draft, CommandError> {
    let name = path.display().to_string();
    if path.is_dir() {
        return Err(CommandError::usage(Problem::new(
            "CAS-INIT-001",
            format!("`{name}` is a directory"),
            "use the file that lists the hosts; group_vars and host_vars next to it are read too",
        )));
    }
    let mut files = vec![read(path)?];
    let dir = path.parent().unwrap_or(Path::new(""));
    for name in ["group_vars", "host_vars"] {
        let dir = dir.join(name);
        if dir.is_dir() {
            read_dir(&dir, &mut files)?;
        }
    }
    let result = ansible::read(&files);
    print_findings(&result, &files);
    match result.inventory {
        Some(inventory) => Ok(from_inventory(&name, &inventory)),
        None => {
            let findings: Vec<Diagnostic> = result
                .findings
                .into_iter()
                .map(|found| found.diagnostic)
                .collect();
            eprintln!("\n{}. No file was written.", summary(&findings));
            Err(CommandError::reported(3))
        }
    }
}

fn print_findings(result: &InventoryResult, files: &[TextFile]) {
    let style = output::style(&std::io::stderr());
    for found in &result.findings {
        let source = files.get(found.file).map(TextFile::masked);
        let source = source
            .as_ref()
            .map(|source| source as &dyn casement_diag::Source);
        eprintln!("{}", render(&found.diagnostic, source, style));
    }
}

/// Reads all files below a directory. An empty directory counts too, because it hides a
/// file with its name.
fn read_dir(dir: &Path, files: &mut Vec<TextFile>) -> Result<(), CommandError> {
    let failed = |error: std::io::Error| unreadable(dir, &error);
    let entries: Result<Vec<_>, _> = fs::read_dir(dir).map_err(failed)?.collect();
    let mut entries = entries.map_err(failed)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    if entries.is_empty() {
        files.push(TextFile::new(format!("{}/", dir.display()), ""));
    }
    for entry in entries {
        let path = entry.path();
        if files.len() > MAX_FILES {
            return Err(CommandError::usage(Problem::new(
                "CAS-INIT-002",
                format!("more than {MAX_FILES} files next to the inventory"),
                "check that this is the correct directory",
            )));
        }
        // Symlinks to directories are not followed: they may form a loop.
        match entry.file_type().map_err(failed)? {
            kind if kind.is_dir() => read_dir(&path, files)?,
            _ if path.is_file() => files.push(read(&path)?),
            _ => {}
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<TextFile, CommandError> {
    let name = path.display().to_string();
    let bytes = fs::metadata(path)
        .map_err(|error| unreadable(path, &error))?
        .len();
    if bytes > MAX_BYTES {
        let problem = Problem::new(
            "CAS-INIT-003",
            format!("`{name}` is too large for an inventory"),
            "check that this is the correct file",
        );
        let problem = problem.detail("size", mebibytes(bytes));
        return Err(CommandError::usage(
            problem.detail("limit", mebibytes(MAX_BYTES)),
        ));
    }
    let bytes = fs::read(path).map_err(|error| unreadable(path, &error))?;
    match String::from_utf8(bytes) {
        // Editors on Windows write a byte order mark.
        Ok(text) => Ok(TextFile::new(name, text.trim_start_matches('\u{feff}'))),
        Err(error) => Err(CommandError::usage(
            Problem::new(
                "CAS-INIT-004",
                format!("`{name}` is not UTF-8"),
                "save it as UTF-8",
            )
            .detail("cause", error.utf8_error()),
        )),
    }
}

/// Rounded up, so that a size above a limit is displayed as larger.
fn mebibytes(bytes: u64) -> String {
    let tenths = bytes.saturating_mul(10).div_ceil(1 << 20);
    format!("{}.{} MiB", tenths / 10, tenths % 10)
}

fn unreadable(path: &Path, error: &std::io::Error) -> CommandError {
    let what = format!("failed to read `{}`", path.display());
    let problem = Problem::new("CAS-INIT-007", what, "check the path of the inventory");
    CommandError::usage(problem.detail("cause", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_above_the_limit_is_displayed_as_larger() {
        assert_eq!(mebibytes(MAX_BYTES), "8.0 MiB");
        assert_eq!(mebibytes(MAX_BYTES + 1), "8.1 MiB");
        assert_eq!(mebibytes(9_017_753), "8.6 MiB");
    }
}
