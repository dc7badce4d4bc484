//! What a person sees while the lab is made: a line per step, and on a terminal
//! the step that is under way with its time.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::problem::Result;

/// Tells of steps on standard error.
#[derive(Debug)]
pub struct Progress {
    terminal: bool,
    /// The width up to the time column.
    width: usize,
}

impl Progress {
    /// For whatever standard error is.
    pub fn new() -> Self {
        Self {
            terminal: stderr().is_terminal(),
            width: 66,
        }
    }

    /// Does one step; `note` says how long it may take.
    pub fn step<T>(&self, what: &str, note: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let started = Instant::now();
        let bar = self.begin(what, note);
        let result = work();
        bar.finish_and_clear();
        if result.is_ok() {
            self.done(what, started.elapsed());
        }
        result
    }

    fn begin(&self, what: &str, note: &str) -> ProgressBar {
        let note = if note.is_empty() {
            String::new()
        } else {
            format!(" ({note})")
        };
        if !self.terminal {
            // Long steps are announced, or a log would show nothing for minutes.
            if !note.is_empty() {
                eprintln!("lab  {what}{note}");
            }
            return ProgressBar::hidden();
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("lab  {wide_msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.set_message(format!("{what}{note}"));
        bar.enable_steady_tick(Duration::from_millis(200));
        bar
    }

    /// A line for something that is finished.
    pub fn done(&self, what: &str, took: Duration) {
        let seconds = took.as_secs();
        let time = format!("{}:{:02}", seconds / 60, seconds % 60);
        eprintln!("lab  {what:<width$} {time:>7}", width = self.width);
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}
