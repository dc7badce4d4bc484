//! Programs that are run to their end.

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
use crate::platform::{Ended, Program, Programs};

const KEPT: usize = 64 * 1024;
/// For what a program wrote last: a grandchild may hold the pipe for ever.
const LAST_WORDS: Duration = Duration::from_secs(2);

impl Programs for Windows {
    fn run(&self, program: &Program) -> Result<Ended, Failure> {
        let [name, arguments @ ..] = program.arguments.as_slice() else {
            return Err(Failure::new(
                Code::ProgramFailed,
                "there is no program to run",
                "name the program first, then its arguments",
            ));
        };
        let doing = || format!("run `{name}`");
        let failed = |error: io::Error| system(doing(), &error);
        let job = Job::new(Scope::Tree)?;
        let (reader, writer) = io::pipe().map_err(failed)?;
        let mut command = Command::new(name);
        command
            .args(arguments)
            .envs(&program.environment)
            .current_dir(program.folder.as_str())
            .stdin(Stdio::null())
            .stdout(writer.try_clone().map_err(failed)?)
            .stderr(writer)
            .creation_flags(CREATE_NO_WINDOW);
        let child = command.spawn().map_err(failed)?;
        // Holds the pipe's other end.
        drop(command);
        job.take(&child)?;
        let output = collect(reader);
        let code = wait(child, &job, program.deadline).map_err(failed)?;
        Ok(Ended {
            code,
            output: last_words(&output),
        })
    }
}

/// None if it had to be ended.
fn wait(mut child: Child, job: &Job, deadline: Duration) -> io::Result<Option<i32>> {
    const LOOK_AGAIN: Duration = Duration::from_millis(20);
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.code());
        }
        if begun.elapsed() >= deadline {
            job.end();
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(LOOK_AGAIN);
    }
}

/// Reads in a thread of its own, so that a full pipe holds nobody up.
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

fn last_words(output: &Receiver<Vec<u8>>) -> String {
    let mut kept = VecDeque::new();
    let begun = Instant::now();
    loop {
        let left = LAST_WORDS.saturating_sub(begun.elapsed());
        match output.recv_timeout(left) {
            Ok(part) => {
                kept.extend(part);
                let excess = kept.len().saturating_sub(KEPT);
                kept.drain(..excess);
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    String::from_utf8_lossy(kept.make_contiguous()).into_owned()
}
