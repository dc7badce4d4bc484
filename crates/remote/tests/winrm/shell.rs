//! Shells of the server, and the commands in them.

use std::collections::HashMap;
use std::io::{self, PipeWriter, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;

use crate::host::Host;

pub struct Shell {
    /// The boot of the host that it was opened after.
    pub boot: u32,
    commands: Mutex<HashMap<String, Arc<Running>>>,
}

/// A command, which is a thread.
#[derive(Default)]
pub struct Running {
    stdin: Mutex<Option<PipeWriter>>,
    said: Mutex<Heard>,
    news: Notify,
}

#[derive(Debug, Default, Clone)]
pub struct Heard {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub exit: Option<u32>,
}

/// A stream of a command.
pub struct Tap {
    running: Arc<Running>,
    is_stderr: bool,
}

impl Tap {
    /// The same stream once more.
    pub fn again(&self) -> Self {
        Self {
            running: Arc::clone(&self.running),
            is_stderr: self.is_stderr,
        }
    }
}

impl Write for Tap {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let mut said = self.running.said.lock().unwrap();
        match self.is_stderr {
            true => said.stderr.extend_from_slice(data),
            false => said.stdout.extend_from_slice(data),
        }
        self.running.news.notify_one();
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
        let running = Arc::new(Running {
            stdin: Mutex::new(Some(writer)),
            ..Running::default()
        });
        let mut commands = self.commands.lock().unwrap();
        commands.insert(name.to_owned(), Arc::clone(&running));
        let line = line.to_owned();
        std::thread::spawn(move || {
            let tap = |is_stderr| Tap {
                running: Arc::clone(&running),
                is_stderr,
            };
            let code = host.run(&line, reader, tap(false), tap(true));
            running.said.lock().unwrap().exit = Some(code);
            running.news.notify_one();
        });
    }

    /// None once it was killed: a client that was cut off may still ask for it.
    fn command(&self, name: &str) -> Option<Arc<Running>> {
        self.commands.lock().unwrap().get(name).cloned()
    }

    pub async fn tell(&self, name: &str, data: Vec<u8>, end: bool) {
        let Some(running) = self.command(name) else {
            return;
        };
        let told = tokio::task::spawn_blocking(move || {
            let mut stdin = running.stdin.lock().unwrap();
            if let Some(pipe) = stdin.as_mut() {
                // A command that has ended reads no more.
                let _ = pipe.write_all(&data);
            }
            if end {
                *stdin = None;
            }
        });
        told.await.unwrap();
    }

    /// What it said since the last time; nothing if it says nothing in time.
    pub async fn hear(&self, name: &str, wait: Duration) -> Option<Heard> {
        let running = self.command(name)?;
        let heard = async {
            loop {
                let news = running.news.notified();
                {
                    let mut said = running.said.lock().unwrap();
                    let silent = said.stdout.is_empty() && said.stderr.is_empty();
                    if !silent || said.exit.is_some() {
                        let heard = said.clone();
                        said.stdout.clear();
                        said.stderr.clear();
                        return heard;
                    }
                }
                news.await;
            }
        };
        tokio::time::timeout(wait, heard).await.ok()
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
