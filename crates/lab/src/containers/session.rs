//! A running process and the shim that asked for it, until its end.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lab_wire::container::{Ending, FromProcess, Started, ToProcess};
use lab_wire::{Answer, read_line, write_line};

use super::launch::{Report, Running};
use super::terminal::Terminal;
use super::{census, to_value};

/// How long output may still flow after the process has ended: what it left
/// running can hold the pipes open.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// Most bytes in one line.
const CHUNK: usize = 32 * 1024;

type Shared<T> = Arc<Mutex<T>>;

/// Serves the connection until the process has ended and all is said.
pub(super) fn run(running: Running, mut stream: BufReader<TcpStream>) {
    let answer = match to_value(Started { pid: running.pid }) {
        Ok(value) => Answer::Ok(value),
        Err(error) => Answer::Err(error.into()),
    };
    let talk = write_line(stream.get_mut(), &answer).and_then(|()| stream.get_ref().try_clone());
    let Ok(out) = talk else {
        let _ = census::end(&running.marker);
        return;
    };
    let out = Arc::new(Mutex::new(out));
    let (done, all_done) = mpsc::channel::<()>();
    for (number, output) in running.outputs.into_iter().enumerate() {
        let (out, done) = (Arc::clone(&out), done.clone());
        thread::spawn(move || pump(output, number == 1, &out, done));
    }
    drop(done);
    let ending = Arc::new(Mutex::new(None));
    let orders = Orders {
        stdin: running.input.map(feed),
        terminal: running.terminal,
        marker: running.marker.clone(),
        ending: Arc::clone(&ending),
    };
    thread::spawn(move || orders.follow(stream));

    let mut code = None;
    while code.is_none() {
        match running.reports.recv() {
            Ok(Report::Exit(number)) => code = Some(number),
            Ok(Report::Gone) | Err(_) => break,
            Ok(_) => {}
        }
    }
    // An exec's children may stay, as on Windows; a container's may not.
    if running.marker.starts_with("WINEPREFIX=") {
        let _ = census::end(&running.marker);
    }
    drain(&all_done);
    let code = code.unwrap_or_else(|| lock(&ending).unwrap_or(Ending::Terminate).exit_code());
    let out = lock(&out);
    let _ = write_line(&mut &*out, &FromProcess::Exit(code));
    let _ = out.shutdown(Shutdown::Both);
}

/// Waits until the pumps have ended, or no longer.
fn drain(all_done: &mpsc::Receiver<()>) {
    let end = Instant::now() + LAST_WORDS;
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        match all_done.recv_timeout(left) {
            Err(RecvTimeoutError::Disconnected) => return,
            Ok(()) | Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Sends what a process writes; a console that is closed is an error to read.
fn pump(mut from: File, stderr: bool, out: &Mutex<TcpStream>, _done: Sender<()>) {
    let mut buffer = vec![0; CHUNK];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let text = STANDARD.encode(&buffer[..count]);
        let line = match stderr {
            true => FromProcess::Stderr(text),
            false => FromProcess::Stdout(text),
        };
        if write_line(&mut &*lock(out), &line).is_err() {
            return;
        }
    }
}

/// A thread that writes to the process: one that does not read must not keep
/// the other orders from being heard. Hanging up closes its input.
fn feed(mut to: File) -> Sender<Vec<u8>> {
    let (sender, chunks) = mpsc::channel::<Vec<u8>>();
    thread::spawn(move || {
        for chunk in chunks {
            if to.write_all(&chunk).is_err() {
                break;
            }
        }
    });
    sender
}

/// What is needed to carry out the shim's orders.
struct Orders {
    stdin: Option<Sender<Vec<u8>>>,
    terminal: Option<Terminal>,
    marker: String,
    ending: Shared<Option<Ending>>,
}

impl Orders {
    fn follow(mut self, mut stream: BufReader<TcpStream>) {
        while let Ok(Some(order)) = read_line(&mut stream) {
            // An order that cannot be carried out is no reason to hear no more.
            let _ = self.carry_out(order);
        }
        // The shim has gone. After the end of the process this finds nobody.
        self.end(Ending::Terminate);
    }

    fn carry_out(&mut self, order: ToProcess) -> io::Result<()> {
        match order {
            ToProcess::Stdin(text) => {
                let bytes = STANDARD.decode(text).map_err(io::Error::other)?;
                if let Some(stdin) = &self.stdin {
                    stdin.send(bytes).map_err(io::Error::other)?;
                }
            }
            ToProcess::CloseStdin => self.close_stdin(),
            ToProcess::Kill(ending) => self.end(ending),
            ToProcess::Resize { columns, rows } => {
                if let Some(terminal) = &self.terminal {
                    terminal.resize(columns, rows)?;
                }
            }
        }
        Ok(())
    }

    fn close_stdin(&mut self) {
        // A console stays open; Ctrl+Z and Enter say "the end" on it.
        if let (Some(stdin), Some(_)) = (&self.stdin, &self.terminal) {
            let _ = stdin.send(b"\x1a\r".to_vec());
        }
        self.stdin = None;
    }

    fn end(&self, ending: Ending) {
        lock(&self.ending).get_or_insert(ending);
        let _ = census::end(&self.marker);
    }
}

fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // Each value is whole between any two statements that hold its lock.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
