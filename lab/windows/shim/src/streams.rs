//! Copies data between containerd's named pipes and the connection to `netd`.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use containerd_shim::{Error, warn};
use lab_wire::container::{FromProcess, KillMode, ToProcess};
use lab_wire::{read_line, write_line};

use crate::pipe;

/// Maximum number of bytes per message to `netd`.
const CHUNK_SIZE: usize = 32 * 1024;

/// The pipe names of the streams of a process.
#[derive(Debug, Clone, Default)]
pub struct StreamNames {
    pub stdin: String,
    pub stdout: String,
    pub stderr: String,
    pub terminal: bool,
}

/// A stream with an empty name has no pipe.
#[derive(Debug, Default)]
pub struct Pipes {
    stdin: Option<File>,
    stdout: Option<File>,
    stderr: Option<File>,
}

/// Sends messages to a running process.
#[derive(Debug, Clone)]
pub struct ControlChannel(Arc<Mutex<TcpStream>>);

impl Pipes {
    /// containerd listens on all of them.
    pub fn open(names: &StreamNames) -> Result<Self, Error> {
        Ok(Self {
            stdin: open(&names.stdin, File::options().read(true))?,
            stdout: open(&names.stdout, File::options().write(true))?,
            stderr: open(&names.stderr, File::options().write(true))?,
        })
    }
}

fn open(name: &str, options: &std::fs::OpenOptions) -> Result<Option<File>, Error> {
    if name.is_empty() {
        return Ok(None);
    }
    pipe::open(name, |name| options.open(name))
        .map(Some)
        .map_err(|err| Error::IoError {
            context: format!("open {name}"),
            err,
        })
}

/// Copies in both directions; calls `ended` with the exit code.
pub fn connect(
    pipes: Pipes,
    connection: BufReader<TcpStream>,
    ended: impl FnOnce(u32) + Send + 'static,
) -> io::Result<ControlChannel> {
    let control = ControlChannel(Arc::new(Mutex::new(connection.get_ref().try_clone()?)));
    if let Some(stdin) = pipes.stdin {
        let control = control.clone();
        thread::spawn(move || forward_input(stdin, &control));
    }
    thread::spawn(move || ended(forward_output(connection, pipes.stdout, pipes.stderr)));
    Ok(control)
}

/// Runs until the process exits; returns its exit code.
fn forward_output(
    mut connection: BufReader<TcpStream>,
    mut stdout: Option<File>,
    mut stderr: Option<File>,
) -> u32 {
    loop {
        match read_line(&mut connection) {
            Ok(Some(FromProcess::Stdout(text))) => write(&mut stdout, &text),
            Ok(Some(FromProcess::Stderr(text))) => write(&mut stderr, &text),
            Ok(Some(FromProcess::Exit(code))) => return code,
            // netd kills a process whose connection breaks.
            other => {
                warn!("connection of a process failed: {other:?}");
                return KillMode::Terminate.exit_code();
            }
        }
    }
}

/// If the reader is gone, output is dropped and the process continues.
fn write(pipe: &mut Option<File>, text: &str) {
    let Some(file) = pipe else { return };
    let written = STANDARD
        .decode(text)
        .map_err(io::Error::other)
        .and_then(|bytes| file.write_all(&bytes));
    if written.is_err() {
        *pipe = None;
    }
}

/// Also forwards the end of the input.
fn forward_input(mut stdin: File, control: &ControlChannel) {
    let mut buffer = vec![0; CHUNK_SIZE];
    while let Ok(count @ 1..) = stdin.read(&mut buffer) {
        let text = STANDARD.encode(&buffer[..count]);
        if control.send(&ToProcess::Stdin(text)).is_err() {
            return;
        }
    }
    let _ = control.send(&ToProcess::CloseStdin);
}

impl ControlChannel {
    pub fn send(&self, message: &ToProcess) -> io::Result<()> {
        let stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        write_line(&mut &*stream, message)
    }
}
