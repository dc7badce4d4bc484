//! Shells of the server and their commands.

use std::collections::HashMap;
use std::io::{self, PipeWriter, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;

use crate::host::Host;

pub struct Shell {
    /// The boot count of the host when the shell was opened.
    pub boot: u32,
    commands: Mutex<HashMap<String, Arc<RunningCommand>>>,
}

/// A command, which runs in a thread.
#[derive(Default)]
pub struct RunningCommand {
    stdin: Mutex<Option<PipeWriter>>,
    output: Mutex<CommandOutput>,
    output_ready: Notify,
}

#[derive(Debug, Default, Clone)]
pub struct CommandOutput {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub exit: Option<u32>,
}

/// Writes to stdout or stderr of a command.
pub struct OutputWriter {
    running: Arc<RunningCommand>,
    is_stderr: bool,
}

impl OutputWriter {
    /// Another writer for the same stream.
    pub fn duplicate(&self) -> Self {
        Self {
            running: Arc::clone(&self.running),
            is_stderr: self.is_stderr,
        }
    }
}

impl Write for OutputWriter {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let mut output = self.running.output.lock().unwrap();
        match self.is_stderr {
            true => output.stderr.extend_from_slice(data),
            false => output.stdout.extend_from_slice(data),
        }
        self.running.output_ready.notify_one();
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shell {
    pub fn new(boot: u32) -> Self {
        let commands = Mutex::default();
        Self { boot, commands }
    }

    pub fn start(&self, name: &str, line: &str, host: Arc<Host>) {
        let (reader, writer) = io::pipe().unwrap();
        let running = Arc::new(RunningCommand {
            stdin: Mutex::new(Some(writer)),
            ..RunningCommand::default()
        });
        let mut commands = self.commands.lock().unwrap();
        commands.insert(name.to_owned(), Arc::clone(&running));
        let line = line.to_owned();
        std::thread::spawn(move || {
            let writer_for = |is_stderr| OutputWriter {
                running: Arc::clone(&running),
                is_stderr,
            };
            let code = host.run(&line, reader, writer_for(false), writer_for(true));
            running.output.lock().unwrap().exit = Some(code);
            running.output_ready.notify_one();
        });
    }

    /// None once it was killed: a client that lost its connection may still request it.
    fn command(&self, name: &str) -> Option<Arc<RunningCommand>> {
        self.commands.lock().unwrap().get(name).cloned()
    }

    pub async fn write_stdin(&self, name: &str, data: Vec<u8>, end: bool) {
        let Some(running) = self.command(name) else {
            return;
        };
        let written = tokio::task::spawn_blocking(move || {
            let mut stdin = running.stdin.lock().unwrap();
            if let Some(pipe) = stdin.as_mut() {
                // The command may have exited.
                let _ = pipe.write_all(&data);
            }
            if end {
                *stdin = None;
            }
        });
        written.await.unwrap();
    }

    /// The output since the last call; `None` if there is none within the timeout.
    pub async fn read_output(&self, name: &str, timeout: Duration) -> Option<CommandOutput> {
        let running = self.command(name)?;
        let output = async {
            loop {
                let ready = running.output_ready.notified();
                {
                    let mut output = running.output.lock().unwrap();
                    let is_empty = output.stdout.is_empty() && output.stderr.is_empty();
                    if !is_empty || output.exit.is_some() {
                        let taken = output.clone();
                        output.stdout.clear();
                        output.stderr.clear();
                        return taken;
                    }
                }
                ready.await;
            }
        };
        tokio::time::timeout(timeout, output).await.ok()
    }

    pub fn kill(&self, name: &str) {
        if let Some(running) = self.commands.lock().unwrap().remove(name) {
            *running.stdin.lock().unwrap() = None;
        }
    }

    pub fn end(&self) {
        for (_, running) in self.commands.lock().unwrap().drain() {
            *running.stdin.lock().unwrap() = None;
        }
    }
}
