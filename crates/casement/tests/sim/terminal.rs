//! Commands in a terminal, and what a person sees there.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Enough for every output, so that nothing scrolls.
const ROWS: u16 = 2000;
/// Generous, for slow CI machines.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Killed on drop.
pub struct Terminal {
    child: Child,
    keyboard: File,
    screen: Arc<Mutex<Screen>>,
    reader: Option<JoinHandle<()>>,
}

impl Terminal {
    /// With 80 columns.
    pub fn run(command: Command) -> Self {
        Self::run_with(command, 80)
    }

    pub fn run_with(mut command: Command, columns: u16) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let end: OwnedFd = ioctl_tiocgptpeer(&master, flags).unwrap();
        let size = Winsize {
            ws_row: ROWS,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&end, size).unwrap();
        command.stdin(end.try_clone().unwrap());
        command.stdout(end.try_clone().unwrap()).stderr(end);
        command.env("TERM", "xterm").env("LC_ALL", "C.UTF-8");
        command.env_remove("NO_COLOR").env_remove("RUST_BACKTRACE");
        let child = command.spawn().unwrap();
        // It keeps the terminal open as long as it exists.
        drop(command);
        let mut output = File::from(master);
        let keyboard = output.try_clone().unwrap();
        let screen = Arc::new(Mutex::new(Screen::new(columns)));
        let shown = Arc::clone(&screen);
        let reader = thread::spawn(move || {
            let mut buffer = [0; 4096];
            // Fails once the last program has closed the terminal.
            while let Ok(count @ 1..) = output.read(&mut buffer) {
                shown.lock().unwrap().write(&buffer[..count]);
            }
        });
        Self {
            child,
            keyboard,
            screen,
            reader: Some(reader),
        }
    }

    pub fn type_line(&mut self, text: &str) {
        writeln!(self.keyboard, "{text}").unwrap();
    }

    pub fn lines(&self) -> Vec<String> {
        self.screen.lock().unwrap().lines()
    }

    /// Waits for a screen; returns it.
    pub async fn wait_for(&mut self, what: &str, shows: impl Fn(&[String]) -> bool) -> Vec<String> {
        let started = Instant::now();
        loop {
            let lines = self.lines();
            if shows(&lines) {
                return lines;
            }
            let ended = self.child.try_wait().unwrap();
            let shown = lines.join("\n");
            assert!(ended.is_none(), "the command ended before {what}:\n{shown}");
            assert!(started.elapsed() < TIMEOUT, "timed out: {what}:\n{shown}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits for a command that ends by itself.
    pub async fn finish(mut self) -> Finished {
        let started = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            let shown = self.lines().join("\n");
            assert!(started.elapsed() < TIMEOUT, "timed out:\n{shown}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        };
        self.reader.take().unwrap().join().unwrap();
        let screen = self.screen.lock().unwrap();
        Finished {
            status,
            rows: screen.lines(),
            lines: screen.unwrapped(),
        }
    }
}

/// The last screen of a command.
pub struct Finished {
    pub status: ExitStatus,
    pub rows: Vec<String>,
    /// Rows that the terminal has wrapped are one line.
    pub lines: Vec<String>,
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It has exited already unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The cells of a terminal that knows the few escape sequences that casement uses.
struct Screen {
    columns: usize,
    rows: Vec<Vec<char>>,
    /// Rows that continue the one before.
    wrapped: BTreeSet<usize>,
    row: usize,
    column: usize,
    /// The start of a character or an escape sequence.
    pending: Vec<u8>,
}

impl Screen {
    fn new(columns: u16) -> Self {
        Self {
            columns: columns.into(),
            rows: Vec::new(),
            wrapped: BTreeSet::new(),
            row: 0,
            column: 0,
            pending: Vec::new(),
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        let bytes = std::mem::take(&mut self.pending);
        let mut rest = bytes.as_slice();
        while let Some((&first, _)) = rest.split_first() {
            let length = match first {
                0x1b => match rest.iter().skip(2).position(u8::is_ascii_alphabetic) {
                    Some(end) => end + 3,
                    None => break,
                },
                byte if byte.is_ascii() => 1,
                byte => byte.leading_ones() as usize,
            };
            let Some((one, after)) = rest.split_at_checked(length) else {
                break;
            };
            match first {
                0x1b => self.escape(std::str::from_utf8(one).unwrap()),
                _ => self.put(std::str::from_utf8(one).unwrap().chars().next().unwrap()),
            }
            rest = after;
        }
        self.pending = rest.to_vec();
    }

    fn put(&mut self, character: char) {
        match character {
            '\n' => self.row += 1,
            '\r' => self.column = 0,
            _ => {
                if self.column == self.columns {
                    (self.row, self.column) = (self.row + 1, 0);
                    self.wrapped.insert(self.row);
                }
                while self.rows.len() <= self.row {
                    self.rows.push(Vec::new());
                }
                let row = &mut self.rows[self.row];
                row.resize(row.len().max(self.column + 1), ' ');
                row[self.column] = character;
                self.column += 1;
            }
        }
    }

    fn escape(&mut self, sequence: &str) {
        let (parameters, command) = sequence.split_at(sequence.len() - 1);
        let number = parameters.trim_start_matches("\u{1b}[").parse();
        match command {
            "A" => self.row -= number.unwrap_or(1).min(self.row),
            "J" => {
                self.rows.truncate(self.row + 1);
                self.wrapped.retain(|row| *row <= self.row);
                if let Some(row) = self.rows.get_mut(self.row) {
                    row.truncate(self.column);
                }
            }
            // Colors.
            "m" => {}
            _ => panic!("unknown escape sequence {sequence:?}"),
        }
    }

    fn lines(&self) -> Vec<String> {
        let rows = self.rows.iter().map(|row| row.iter().collect::<String>());
        rows.map(|row| row.trim_end().to_owned()).collect()
    }

    fn unwrapped(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            match lines.last_mut() {
                Some(line) if self.wrapped.contains(&number) => line.extend(row),
                _ => lines.push(row.iter().collect()),
            }
        }
        let lines = lines.iter().map(|line| line.trim_end().to_owned());
        lines.collect()
    }
}

#[test]
fn redrawn_lines_replace_the_drawn_ones() {
    let mut screen = Screen::new(80);
    screen.write("a\r\none\r\ntwo\r\n\u{1b}[2A\r\u{1b}[J\u{1b}[32m✓ 1\u{1b}[0m\r\n".as_bytes());
    assert_eq!(screen.lines(), ["a", "✓ 1"]);
    screen.write(&"✓".as_bytes()[..1]);
    screen.write(&"✓".as_bytes()[1..]);
    screen.write(&[b'x'; 80]);
    assert_eq!(screen.lines()[2], format!("✓{}", "x".repeat(79)));
    assert_eq!(screen.lines()[3], "x");
    assert_eq!(screen.unwrapped()[2], format!("✓{}", "x".repeat(80)));
    assert_eq!(screen.unwrapped().len(), 3);
}
