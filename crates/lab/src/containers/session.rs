//! Connects a running process with the shim that started it until the process ends.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lab_wire::container::{FromProcess, KillMode, Started, ToProcess};
use lab_wire::{Response, read_line, write_line};

use super::launch::{Report, RunningProcess};
use super::terminal::Terminal;
use super::{processes, to_value};

/// How long output is still read after the process has ended; background processes
/// can keep the pipes open.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(3);

/// Maximum payload of one line in bytes, before base64.
const CHUNK_SIZE: usize = 32 * 1024;

type Shared<T> = Arc<Mutex<T>>;

/// Serves the connection until the process has ended and its output is sent.
pub(super) fn run(running: RunningProcess, mut stream: BufReader<TcpStream>) {
    let response = match to_value(Started { pid: running.pid }) {
        Ok(value) => Response::Ok(value),
        Err(error) => Response::Err(error.into()),
    };
    let sent = write_line(stream.get_mut(), &response);
    let Ok(out) = sent.and_then(|()| stream.get_ref().try_clone()) else {
        let _ = processes::kill(&running.marker);
        return;
    };
    let out = Arc::new(Mutex::new(out));
    let (done, all_done) = mpsc::channel::<()>();
    for (number, output) in running.outputs.into_iter().enumerate() {
        let (out, done) = (Arc::clone(&out), done.clone());
        thread::spawn(move || send_output(output, number == 1, &out, done));
    }
    drop(done);
    let kill_mode = Arc::new(Mutex::new(None));
    let requests = Requests {
        stdin: running.input.map(spawn_writer),
        terminal: running.terminal,
        marker: running.marker.clone(),
        kill_mode: Arc::clone(&kill_mode),
    };
    thread::spawn(move || requests.serve(stream));

    let mut code = None;
    while code.is_none() {
        match running.reports.recv() {
            Ok(Report::Exit(number)) => code = Some(number),
            Ok(Report::Gone) | Err(_) => break,
            Ok(_) => {}
        }
    }
    // As on Windows, children of an exec may keep running; when the first process of
    // the container ends, all others end.
    if running.marker.starts_with("WINEPREFIX=") {
        let _ = processes::kill(&running.marker);
    }
    drain(&all_done);
    let code = code.unwrap_or_else(|| lock(&kill_mode).unwrap_or(KillMode::Terminate).exit_code());
    let out = lock(&out);
    let _ = write_line(&mut &*out, &FromProcess::Exit(code));
    let _ = out.shutdown(Shutdown::Both);
}

/// Waits until all output is sent, or for the timeout.
fn drain(all_done: &mpsc::Receiver<()>) {
    let deadline = Instant::now() + DRAIN_TIMEOUT;
    while let Some(left) = deadline.checked_duration_since(Instant::now()) {
        match all_done.recv_timeout(left) {
            Err(RecvTimeoutError::Disconnected) => return,
            Ok(()) | Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Ends at EOF or, for a closed terminal, at a read error.
fn send_output(mut from: File, stderr: bool, out: &Mutex<TcpStream>, _done: Sender<()>) {
    let mut buffer = vec![0; CHUNK_SIZE];
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

/// Writes to the process in a separate thread, so that a process that does not read
/// does not block other requests. Dropping the sender closes stdin.
fn spawn_writer(mut to: File) -> Sender<Vec<u8>> {
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

/// Handles the requests of the shim.
struct Requests {
    stdin: Option<Sender<Vec<u8>>>,
    terminal: Option<Terminal>,
    marker: String,
    kill_mode: Shared<Option<KillMode>>,
}

impl Requests {
    fn serve(mut self, mut stream: BufReader<TcpStream>) {
        while let Ok(Some(request)) = read_line(&mut stream) {
            // A failed request does not end the session.
            let _ = self.handle(request);
        }
        // The shim is gone. Does nothing if the process has ended.
        self.kill(KillMode::Terminate);
    }

    fn handle(&mut self, request: ToProcess) -> io::Result<()> {
        match request {
            ToProcess::Stdin(text) => {
                let bytes = STANDARD.decode(text).map_err(io::Error::other)?;
                if let Some(stdin) = &self.stdin {
                    stdin.send(bytes).map_err(io::Error::other)?;
                }
            }
            ToProcess::CloseStdin => self.close_stdin(),
            ToProcess::Kill(kill_mode) => self.kill(kill_mode),
            ToProcess::Resize { columns, rows } => {
                if let Some(terminal) = &self.terminal {
                    terminal.resize(columns, rows)?;
                }
            }
        }
        Ok(())
    }

    fn close_stdin(&mut self) {
        // A console stays open; Ctrl+Z and Enter signal EOF.
        if let (Some(stdin), Some(_)) = (&self.stdin, &self.terminal) {
            let _ = stdin.send(b"\x1a\r".to_vec());
        }
        self.stdin = None;
    }

    fn kill(&self, kill_mode: KillMode) {
        lock(&self.kill_mode).get_or_insert(kill_mode);
        let _ = processes::kill(&self.marker);
    }
}

fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // The values are consistent after every statement, so a poisoned lock is usable.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
