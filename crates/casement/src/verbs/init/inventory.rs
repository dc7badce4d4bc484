//! An inventory from the disk, with what lies beside it.

use std::fs;
use std::path::Path;

use casement_diag::{Diagnostic, Problem, render, summary};
use casement_source::import::ansible::{self, Reading};
use casement_source::import::{Draft, TextFile, from_inventory};

use crate::failure::CommandError;

/// More files of variables than anybody keeps.
const MOST_FILES: usize = 5000;
/// Larger ones are refused by the reader, so their text is not needed.
const MOST_BYTES: u64 = 8 << 20;

/// A draft from an inventory; what is wrong with it has been printed when this
/// gives an error.
pub fn draft(path: &Path) -> Result<Draft, CommandError> {
    let name = path.display().to_string();
    if path.is_dir() {
        return Err(CommandError::usage(Problem::new(
            "CAS-INIT-001",
            format!("`{name}` is a folder"),
            "name the file in it that lists the hosts; group_vars and host_vars beside it are read too",
        )));
    }
    let mut files = vec![read(path)?];
    let folder = path.parent().unwrap_or(Path::new(""));
    for below in ["group_vars", "host_vars"] {
        let folder = folder.join(below);
        if folder.is_dir() {
            walk(&folder, &mut files)?;
        }
    }
    let reading = ansible::read(&files);
    show(&reading, &files);
    match reading.inventory {
        Some(inventory) => Ok(from_inventory(&name, &inventory)),
        None => {
            let findings: Vec<Diagnostic> = reading
                .findings
                .into_iter()
                .map(|found| found.diagnostic)
                .collect();
            eprintln!("\n{}; nothing was written", summary(&findings));
            Err(CommandError::told(3))
        }
    }
}

fn show(reading: &Reading, files: &[TextFile]) {
    for found in &reading.findings {
        let source = files.get(found.file).map(TextFile::shown);
        let source = source
            .as_ref()
            .map(|source| source as &dyn casement_diag::Source);
        eprintln!("{}", render(&found.diagnostic, source, super::style()));
    }
}

/// Every file below a folder; an empty folder counts too, because it hides a
/// file of its name.
fn walk(folder: &Path, files: &mut Vec<TextFile>) -> Result<(), CommandError> {
    let wrong = |error: std::io::Error| unreadable(folder, &error);
    let entries: Result<Vec<_>, _> = fs::read_dir(folder).map_err(wrong)?.collect();
    let mut entries = entries.map_err(wrong)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    if entries.is_empty() {
        files.push(TextFile::new(format!("{}/", folder.display()), ""));
    }
    for entry in entries {
        let path = entry.path();
        if files.len() > MOST_FILES {
            return Err(CommandError::usage(Problem::new(
                "CAS-INIT-002",
                format!("there are more than {MOST_FILES} files beside the inventory"),
                "is it the right folder?",
            )));
        }
        // Links to folders are not followed: they may lead round in circles.
        match entry.file_type().map_err(wrong)? {
            kind if kind.is_dir() => walk(&path, files)?,
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
    if bytes > MOST_BYTES {
        return Err(CommandError::usage(Problem::new(
            "CAS-INIT-003",
            format!(
                "`{name}` has {} MiB, too much for an inventory",
                bytes >> 20
            ),
            "is it the right file?",
        )));
    }
    let bytes = fs::read(path).map_err(|error| unreadable(path, &error))?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(TextFile::new(name, text)),
        Err(error) => Err(CommandError::usage(
            Problem::new(
                "CAS-INIT-004",
                format!("`{name}` is no UTF-8 text"),
                "save it as UTF-8",
            )
            .seen("it says", error.utf8_error()),
        )),
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> CommandError {
    let what = format!("`{}` cannot be read", path.display());
    CommandError::usage(
        Problem::new("CAS-INIT-007", what, "name an inventory that is there")
            .seen("it says", error),
    )
}
