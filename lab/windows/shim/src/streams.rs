//! containerd's named pipes, and what flows through them.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use containerd_shim::{Error, warn};
use lab_wire::container::{Ending, FromProcess, ToProcess};
use lab_wire::{read_line, write_line};

use crate::pipe;

/// Most bytes in one line to `netd`.
const CHUNK: usize = 32 * 1024;

/// The names that containerd gave for the streams of a process.
#[derive(Debug, Clone, Default)]
pub struct Names {
    pub stdin: String,
    pub stdout: String,
    pub stderr: String,
    pub terminal: bool,
}

/// The open pipes; an empty name is no pipe.
#[derive(Debug, Default)]
pub struct Pipes {
    stdin: Option<File>,
    stdout: Option<File>,
    stderr: Option<File>,
}

/// The way to a running process.
#[derive(Debug, Clone)]
pub struct Orders(Arc<Mutex<TcpStream>>);

impl Pipes {
    /// Connects to containerd, which listens on all of them.
    pub fn open(names: &Names) -> Result<Self, Error> {
        Ok(Self {
            stdin: open(&names.stdin, File::options().read(true))?,
            stdout: open(&names.stdout, File::options().write(true))?,
            stderr: open(&names.stderr, File::options().write(true))?,
        })
    }
}

fn open(name: &str, how: &std::fs::OpenOptions) -> Result<Option<File>, Error> {
    if name.is_empty() {
        return Ok(None);
    }
    pipe::open(name, |name| how.open(name))
        .map(Some)
        .map_err(|err| Error::IoError {
            context: format!("open {name}"),
            err,
        })
}

/// Carries both ways from now on; `ended` is told the exit code.
pub fn connect(
    pipes: Pipes,
    connection: BufReader<TcpStream>,
    ended: impl FnOnce(u32) + Send + 'static,
) -> io::Result<Orders> {
    let orders = Orders(Arc::new(Mutex::new(connection.get_ref().try_clone()?)));
    if let Some(stdin) = pipes.stdin {
        let orders = orders.clone();
        thread::spawn(move || feed(stdin, &orders));
    }
    thread::spawn(move || ended(follow(connection, pipes.stdout, pipes.stderr)));
    Ok(orders)
}

/// Hands on what the process writes, until its exit code.
fn follow(
    mut connection: BufReader<TcpStream>,
    mut stdout: Option<File>,
    mut stderr: Option<File>,
) -> u32 {
    loop {
        match read_line(&mut connection) {
            Ok(Some(FromProcess::Stdout(text))) => show(&mut stdout, &text),
            Ok(Some(FromProcess::Stderr(text))) => show(&mut stderr, &text),
            Ok(Some(FromProcess::Exit(code))) => return code,
            // netd ends a process whose connection breaks.
            other => {
                warn!("connection of a process: {other:?}");
                return Ending::Terminate.exit_code();
            }
        }
    }
}

/// A reader that has gone is not asked again; the process goes on.
fn show(pipe: &mut Option<File>, text: &str) {
    let Some(file) = pipe else { return };
    let written = STANDARD
        .decode(text)
        .map_err(io::Error::other)
        .and_then(|bytes| file.write_all(&bytes));
    if written.is_err() {
        *pipe = None;
    }
}

/// Hands on what the process shall read; the end too.
fn feed(mut stdin: File, orders: &Orders) {
    let mut buffer = vec![0; CHUNK];
    while let Ok(count @ 1..) = stdin.read(&mut buffer) {
        let text = STANDARD.encode(&buffer[..count]);
        if orders.send(&ToProcess::Stdin(text)).is_err() {
            return;
        }
    }
    let _ = orders.send(&ToProcess::CloseStdin);
}

impl Orders {
    /// Sends one.
    pub fn send(&self, order: &ToProcess) -> io::Result<()> {
        let stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        write_line(&mut &*stream, order)
    }
}
