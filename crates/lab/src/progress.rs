//! Progress on stderr: one line per finished step and, on a terminal, a spinner
//! with the current step and its elapsed time.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::problem::Result;

/// Width up to the time column, so that the line fits 80 columns.
const WIDTH: usize = 68;

#[derive(Debug)]
pub struct LabProgress {
    terminal: bool,
}

/// A running step; the spinner is cleared on drop.
#[derive(Debug)]
pub struct RunningStep {
    bar: ProgressBar,
}

impl LabProgress {
    pub fn new() -> Self {
        Self {
            terminal: stderr().is_terminal(),
        }
    }

    /// Runs one step; `note` is the expected duration of a long step, or empty.
    pub fn step<T>(&self, what: &str, note: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let started = Instant::now();
        let step = self.begin(what, note);
        let result = work();
        if result.is_ok() {
            step.done(what, started.elapsed());
        }
        result
    }

    pub fn begin(&self, what: &str, note: &str) -> RunningStep {
        let note = match note {
            "" => String::new(),
            note => format!(" ({note})"),
        };
        if !self.terminal {
            // Long steps are announced, or a log would show nothing for minutes.
            if !note.is_empty() {
                eprintln!("lab  {what}{note}");
            }
            let bar = ProgressBar::hidden();
            return RunningStep { bar };
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("lab  {wide_msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.set_message(format!("{what}{note}"));
        bar.enable_steady_tick(Duration::from_millis(200));
        RunningStep { bar }
    }
}

impl Default for LabProgress {
    fn default() -> Self {
        Self::new()
    }
}

impl RunningStep {
    pub fn done(&self, what: &str, took: Duration) {
        self.bar.suspend(|| eprintln!("{}", done_line(what, took)));
    }
}

pub(crate) fn done_line(what: &str, took: Duration) -> String {
    let seconds = took.as_secs();
    let time = format!("{}:{:02}", seconds / 60, seconds % 60);
    format!("lab  {what:<WIDTH$} {time:>5}")
}

impl Drop for RunningStep {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
