//! Programs that run to completion.

use std::collections::VecDeque;
use std::io::{self, PipeReader, Read};
use std::os::windows::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use casement_resource::{Code, Failure};
use windows_sys::Win32::System::Threading::CREATE_NO_WINDOW;

use super::Windows;
use super::failure::system;
use super::job::{Job, Scope};
use crate::platform::{Program, ProgramExit, Programs};

const MAX_OUTPUT_BYTES: usize = 64 * 1024;
/// A grandchild may hold the pipe open forever.
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(2);

impl Programs for Windows {
    fn run(&self, program: &Program) -> Result<ProgramExit, Failure> {
        let [name, arguments @ ..] = program.arguments.as_slice() else {
            return Err(Failure::new(
                Code::ProgramFailed,
                "no program given",
                "report this as a bug",
            ));
        };
        let action = || format!("run `{name}`");
        let failed = |error: io::Error| system(action(), &error);
        let job = Job::new(Scope::Tree)?;
        let (reader, writer) = io::pipe().map_err(failed)?;
        let mut command = Command::new(name);
        command
            .args(arguments)
            .envs(&program.environment)
            .current_dir(program.working_dir.as_str())
            .stdin(Stdio::null())
            .stdout(writer.try_clone().map_err(failed)?)
            .stderr(writer)
            .creation_flags(CREATE_NO_WINDOW);
        let child = command.spawn().map_err(failed)?;
        // The command holds the write end of the pipe.
        drop(command);
        job.assign(&child)?;
        let output = collect(reader);
        let code = wait(child, &job, program.timeout).map_err(failed)?;
        Ok(ProgramExit {
            code,
            output: read_output(&output),
        })
    }
}

/// `None` if the process was killed.
fn wait(mut child: Child, job: &Job, timeout: Duration) -> io::Result<Option<i32>> {
    const POLL_INTERVAL: Duration = Duration::from_millis(20);
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.code());
        }
        if started.elapsed() >= timeout {
            job.terminate();
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Reads on its own thread, so that a full pipe does not block the program.
fn collect(mut reader: PipeReader) -> Receiver<Vec<u8>> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = reader.read(&mut buffer) {
            let part = buffer.get(..count).unwrap_or_default().to_vec();
            if send.send(part).is_err() {
                return;
            }
        }
    });
    receive
}

fn read_output(output: &Receiver<Vec<u8>>) -> String {
    let mut kept = VecDeque::new();
    let started = Instant::now();
    loop {
        let left = OUTPUT_TIMEOUT.saturating_sub(started.elapsed());
        match output.recv_timeout(left) {
            Ok(part) => {
                kept.extend(part);
                let excess = kept.len().saturating_sub(MAX_OUTPUT_BYTES);
                kept.drain(..excess);
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    String::from_utf8_lossy(kept.make_contiguous()).into_owned()
}
