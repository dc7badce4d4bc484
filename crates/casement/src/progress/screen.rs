//! A few lines at the bottom of a terminal that are drawn again and again.

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, Weak};
use std::thread;
use std::time::Duration;

use super::{Shared, lock};

/// How often the elapsed time is drawn anew.
const TICK: Duration = Duration::from_millis(250);

/// The terminal, and how many lines of it are ours.
#[derive(Debug)]
pub struct Screen {
    drawn: usize,
    colour: bool,
    last: Vec<String>,
}

impl Screen {
    /// The terminal behind standard error; none where lines serve better.
    pub fn find(verbose: bool) -> Option<Self> {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let fits = std::io::stderr().is_terminal() && !dumb && !verbose;
        fits.then(|| Self {
            drawn: 0,
            colour: !set("NO_COLOR"),
            last: Vec::new(),
        })
    }

    /// Draws the lines for the terminal's present size, if they differ from what
    /// is there.
    pub fn draw(&mut self, lines: impl FnOnce(usize, usize) -> Vec<String>) {
        let (width, height) = match terminal_size::terminal_size_of(std::io::stderr()) {
            Some((width, height)) => (usize::from(width.0), usize::from(height.0)),
            None => (80, 24),
        };
        // The last column stays free: a full line makes some terminals wrap.
        let lines = lines(width.saturating_sub(1), height);
        if lines == self.last {
            return;
        }
        let mut text = self.wipe();
        for line in &lines {
            text.push_str(&self.paint(line));
            text.push('\n');
        }
        self.drawn = lines.len();
        self.last = lines;
        // A terminal that is gone needs no picture.
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }

    /// Writes a text that stays above what is drawn.
    pub fn above(&mut self, text: &str) {
        let text = format!("{}{text}\n", self.wipe());
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
        self.drawn = 0;
        self.last.clear();
    }

    /// What takes away the lines that were drawn.
    fn wipe(&self) -> String {
        match self.drawn {
            0 => String::new(),
            drawn => format!("\x1b[{drawn}A\r\x1b[J"),
        }
    }

    fn paint(&self, line: &str) -> String {
        let colour = match (line.contains('✗'), line.contains('✓')) {
            _ if !self.colour => None,
            (true, _) => Some(31),
            (_, true) => Some(32),
            _ => None,
        };
        colour.map_or_else(
            || line.to_owned(),
            |colour| format!("\x1b[{colour}m{line}\x1b[0m"),
        )
    }
}

/// Lets the clocks of the picture go on while nothing happens, as long as there
/// is one.
pub fn keep_fresh(shared: Weak<Mutex<Shared>>) {
    thread::spawn(move || {
        while let Some(shared) = shared.upgrade() {
            let mut shared = lock(&shared);
            if shared.screen.is_none() {
                return;
            }
            shared.redraw();
            drop(shared);
            thread::sleep(TICK);
        }
    });
}
