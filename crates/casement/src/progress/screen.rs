//! Lines at the bottom of a terminal that are redrawn in place.

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, Weak};
use std::thread;
use std::time::Duration;

use super::board::Canvas;
use super::{Shared, lock};
use crate::output;

/// How often elapsed times are redrawn.
const REDRAW_INTERVAL: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub struct Screen {
    /// How many lines were drawn.
    drawn: usize,
    color: bool,
    last: Vec<String>,
}

impl Screen {
    /// None where progress is printed line by line.
    pub fn find(verbose: bool) -> Option<Self> {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let usable = std::io::stderr().is_terminal() && !dumb && !verbose;
        usable.then(|| Self {
            drawn: 0,
            color: output::color(&std::io::stderr()),
            last: Vec::new(),
        })
    }

    /// Draws the lines for the terminal's current size, if they have changed.
    pub fn draw(&mut self, lines: impl FnOnce(Canvas<'_>) -> Vec<String>) {
        let (width, height) = match terminal_size::terminal_size_of(std::io::stderr()) {
            Some((width, height)) => (usize::from(width.0), usize::from(height.0)),
            None => (80, 24),
        };
        let lines = lines(Canvas {
            // The last column stays free: a full line makes some terminals wrap.
            width: width.saturating_sub(1),
            height,
            symbols: output::symbols(),
        });
        if lines == self.last {
            return;
        }
        let mut text = self.erase();
        for line in &lines {
            text.push_str(&self.paint(line));
            text.push('\n');
        }
        self.drawn = lines.len();
        self.last = lines;
        // The terminal may be gone.
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }

    /// Prints text that stays above the drawn lines.
    pub fn print_above(&mut self, text: &str) {
        let text = format!("{}{text}\n", self.erase());
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
        self.drawn = 0;
        self.last.clear();
    }

    /// The escape sequence that erases the drawn lines.
    fn erase(&self) -> String {
        match self.drawn {
            0 => String::new(),
            drawn => format!("\x1b[{drawn}A\r\x1b[J"),
        }
    }

    fn paint(&self, line: &str) -> String {
        let symbols = output::symbols();
        let code = match (line.contains(symbols.failed), line.contains(symbols.done)) {
            _ if !self.color => return line.to_owned(),
            (true, _) => 31,
            (_, true) => 32,
            _ => return line.to_owned(),
        };
        format!("\x1b[{code}m{line}\x1b[0m")
    }
}

/// Keeps elapsed times current while no events arrive, until the screen is closed.
pub fn redraw_regularly(shared: Weak<Mutex<Shared>>) {
    thread::spawn(move || {
        while let Some(shared) = shared.upgrade() {
            let mut shared = lock(&shared);
            if shared.screen.is_none() {
                return;
            }
            shared.redraw();
            drop(shared);
            thread::sleep(REDRAW_INTERVAL);
        }
    });
}
