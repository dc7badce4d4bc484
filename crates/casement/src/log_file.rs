//! `--log-file`: everything that is said, and every event, without secrets.
//!
//! There is one for the process, as there is one standard error: whoever says
//! something need not know of it, and nothing is left out, from the first word about
//! the cluster file to the last about how it ended.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use casement_diag::Problem;
use casement_resource::Secret;

use crate::mask;

static LOG: Mutex<Log<File>> = Mutex::new(Log::none());

struct Log<W> {
    to: Option<W>,
    /// The secrets of this run.
    known: Vec<Secret>,
}

/// Begins a file, or none where none is wanted.
pub fn open(path: Option<&Path>) -> Result<(), Problem> {
    let file = path.map(|path| {
        File::create(path).map_err(|error| {
            let what = format!("the log file `{}` cannot be written", path.display());
            let remedy = "name a file in a folder that is there";
            Problem::new("CAS-FILE-007", what, remedy).seen("it says", error)
        })
    });
    log().to = file.transpose()?;
    Ok(())
}

/// From now on this is not written down.
pub fn hide(secret: &Secret) {
    let mut log = log();
    if !log.known.contains(secret) {
        log.known.push(secret.clone());
    }
}

/// Writes a text down, if there is a file.
pub fn write(text: &str) {
    log().write(text);
}

impl<W: Write> Log<W> {
    const fn none() -> Self {
        Self {
            to: None,
            known: Vec::new(),
        }
    }

    fn write(&mut self, text: &str) {
        if let Some(to) = &mut self.to {
            let text = mask::own(text, &self.known);
            let end = line_end(&text);
            // What cannot be logged is still shown.
            let _ = write!(to, "{text}{end}");
        }
    }
}

/// What a text lacks to be whole lines.
pub fn line_end(text: &str) -> &'static str {
    match text.is_empty() || text.ends_with('\n') {
        true => "",
        false => "\n",
    }
}

fn log() -> MutexGuard<'static, Log<File>> {
    LOG.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_lines_are_written_without_the_secrets_of_the_run() {
        let mut log = Log::none();
        log.write("nobody asked for it");
        log.to = Some(Vec::new());
        log.known.push(Secret::new("hunter2".to_owned()));
        for text in [
            "w1: login hunter2 refused",
            "",
            "with abcdef.0123456789abcdef\n",
        ] {
            log.write(text);
        }
        let written = String::from_utf8(log.to.unwrap()).unwrap();
        assert_eq!(written, "w1: login ******** refused\nwith ********\n");
    }
}
