//! What a person sees while the lab is made: a line per step, and on a terminal
//! the step that is under way with its time.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::problem::Result;

/// Up to the time column; the whole line fits 80 columns.
const WIDTH: usize = 68;

/// Tells of steps on standard error.
#[derive(Debug)]
pub struct Progress {
    terminal: bool,
}

/// Something that is under way, until dropped.
#[derive(Debug)]
pub struct UnderWay {
    bar: ProgressBar,
}

impl Progress {
    /// For whatever standard error is.
    pub fn new() -> Self {
        Self {
            terminal: stderr().is_terminal(),
        }
    }

    /// Does one step; `note` says how long it may take, where that is long.
    pub fn step<T>(&self, what: &str, note: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let started = Instant::now();
        let under_way = self.begin(what, note);
        let result = work();
        if result.is_ok() {
            under_way.done(what, started.elapsed());
        }
        result
    }

    /// Shows what is under way.
    pub fn begin(&self, what: &str, note: &str) -> UnderWay {
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
            return UnderWay { bar };
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("lab  {wide_msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.set_message(format!("{what}{note}"));
        bar.enable_steady_tick(Duration::from_millis(200));
        UnderWay { bar }
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

impl UnderWay {
    /// A line for a part that is finished.
    pub fn done(&self, what: &str, took: Duration) {
        let seconds = took.as_secs();
        let time = format!("{}:{:02}", seconds / 60, seconds % 60);
        self.bar
            .suspend(|| eprintln!("lab  {what:<WIDTH$} {time:>5}"));
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
