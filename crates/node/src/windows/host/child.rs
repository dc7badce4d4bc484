//! The process that a service is about.
#![allow(unsafe_code, reason = "console functions of the Windows API")]

use std::collections::BTreeMap;
use std::io::{self, PipeReader, Read, Write};
use std::os::windows::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use casement_resource::Failure;
use windows_sys::Win32::System::Console::{
    AttachConsole, CTRL_BREAK_EVENT, FreeConsole, GenerateConsoleCtrlEvent, SetConsoleCtrlHandler,
};
use windows_sys::Win32::System::Threading::{CREATE_NEW_PROCESS_GROUP, CREATE_NO_WINDOW};
use windows_sys::core::BOOL;

use super::log::Log;
use crate::windows::failure::system;
use crate::windows::job::{Job, Scope};

/// Where output goes; nowhere, for services without a log.
pub type Output = Arc<Mutex<Option<Log>>>;

/// kubeadm and others use paths without a drive, and mean this one.
const FOLDER: &str = r"C:\";

/// A process in a job of its own: it does not outlive the service host.
#[derive(Debug)]
pub struct Running {
    child: Child,
    job: Arc<Job>,
}

impl Running {
    /// Starts a program; the number is Windows' code for why it could not.
    pub fn start(
        program: &[String],
        environment: &BTreeMap<String, String>,
        output: &Output,
    ) -> Result<Self, (Failure, u32)> {
        let (name, arguments) = match program.split_first() {
            Some((name, arguments)) => (name.as_str(), arguments),
            None => ("", &[][..]),
        };
        let failed = |error: io::Error| {
            let code = error.raw_os_error().map_or(1, i32::cast_unsigned);
            (system(format_args!("start `{name}`"), &error), code)
        };
        let job = Job::new(Scope::Process).map_err(|failure| (failure, 1))?;
        let (reader, writer) = io::pipe().map_err(failed)?;
        let mut command = Command::new(name);
        command
            .args(arguments)
            .envs(environment)
            .current_dir(FOLDER)
            .stdin(Stdio::null())
            .stdout(writer.try_clone().map_err(failed)?)
            .stderr(writer)
            .creation_flags(CREATE_NEW_PROCESS_GROUP | CREATE_NO_WINDOW);
        let child = command.spawn().map_err(failed)?;
        job.take(&child).map_err(|failure| (failure, 1))?;
        copy(reader, Arc::clone(output));
        Ok(Self {
            child,
            job: Arc::new(job),
        })
    }

    /// Its exit code, once it has ended.
    pub fn exit_code(&mut self) -> Option<i32> {
        match self.child.try_wait() {
            Ok(Some(status)) => Some(status.code().unwrap_or(1)),
            _ => None,
        }
    }

    /// Asks it to end, as Ctrl+Break would; a program that cannot be asked is
    /// ended. Not waited for: a console that does not answer must not keep the
    /// service from stopping.
    pub fn ask_to_end(&self) {
        let (process, job) = (self.child.id(), Arc::clone(&self.job));
        thread::spawn(move || {
            if !press_break(process) {
                job.end();
            }
        });
    }

    /// Ends it.
    pub fn kill(&self) {
        self.job.end();
    }
}

/// Only through its console can a process be asked to end. It has one of its
/// own, without a window; a service host has none, so it can join that.
fn press_break(process: u32) -> bool {
    // SAFETY: numbers, and a function that lives as long as the program. The
    // process leads its group, since it was started in a new one: nobody else
    // should hear this, and whoever has joined its console is deaf to it.
    unsafe {
        SetConsoleCtrlHandler(Some(deaf), 1);
        FreeConsole();
        if AttachConsole(process) == 0 {
            return false;
        }
        let pressed = GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, process);
        FreeConsole();
        pressed != 0
    }
}

/// Takes every signal of a console for dealt with: the service host ends when the
/// Service Control Manager says so.
unsafe extern "system" fn deaf(_signal: u32) -> BOOL {
    1
}

/// Ends when nobody holds the pipe any more, which may be long after the
/// program: what it started may have inherited it.
fn copy(mut reader: PipeReader, output: Output) {
    thread::spawn(move || {
        let mut buffer = [0; 8192];
        while let Ok(count @ 1..) = reader.read(&mut buffer) {
            write(&output, buffer.get(..count).unwrap_or_default());
        }
    });
}

/// Appends to the log. A full disk must not stop the program, so what cannot
/// be written is lost.
pub fn write(output: &Output, bytes: &[u8]) {
    let mut log = output
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(log) = log.as_mut() {
        let _ = log.write_all(bytes);
    }
}
