//! `--log-file`: all output and every event, without secrets.
//!
//! One per process, like standard error, so that all output goes there without passing it
//! around.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use casement_diag::Problem;
use casement_resource::Secret;

use crate::mask;

static LOG: Mutex<Log<File>> = Mutex::new(Log::none());

struct Log<W> {
    writer: Option<W>,
    /// The secrets of this run, to be masked.
    secrets: Vec<Secret>,
}

/// None disables the log file.
pub fn open(path: Option<&Path>) -> Result<(), Problem> {
    let file = path.map(|path| {
        File::create(path).map_err(|error| {
            let what = format!("failed to write the log file `{}`", path.display());
            let help = "choose a file in an existing directory";
            Problem::new("CAS-FILE-007", what, help).detail("cause", error)
        })
    });
    log().writer = file.transpose()?;
    Ok(())
}

/// Masks the secret from now on.
pub fn hide(secret: &Secret) {
    let mut log = log();
    if !log.secrets.contains(secret) {
        log.secrets.push(secret.clone());
    }
}

pub fn write(text: &str) {
    log().write(text);
}

impl<W: Write> Log<W> {
    const fn none() -> Self {
        Self {
            writer: None,
            secrets: Vec::new(),
        }
    }

    fn write(&mut self, text: &str) {
        if let Some(writer) = &mut self.writer {
            let text = mask::own(text, &self.secrets);
            let end = line_end(&text);
            // The output is also on the terminal.
            let _ = write!(writer, "{text}{end}");
        }
    }
}

/// The newline that the text lacks, if any.
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
    fn lines_are_written_without_secrets() {
        let mut log = Log::none();
        log.write("before the file is open");
        log.writer = Some(Vec::new());
        log.secrets.push(Secret::new("hunter2".to_owned()));
        for text in [
            "w1: login hunter2 refused",
            "",
            "with abcdef.0123456789abcdef\n",
        ] {
            log.write(text);
        }
        let written = String::from_utf8(log.writer.unwrap()).unwrap();
        assert_eq!(written, "w1: login ******** refused\nwith ********\n");
    }
}
