//! The child process of a service.
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

/// `None` for services without a log.
pub type Output = Arc<Mutex<Option<Log>>>;

/// kubeadm and others use paths without a drive, which mean this one.
const WORKING_DIR: &str = r"C:\";

/// A process in its own job object: it cannot outlive the service host.
#[derive(Debug)]
pub struct ChildProcess {
    child: Child,
    job: Arc<Job>,
}

impl ChildProcess {
    /// On failure, returns the Windows error code as well.
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
            .current_dir(WORKING_DIR)
            .stdin(Stdio::null())
            .stdout(writer.try_clone().map_err(failed)?)
            .stderr(writer)
            .creation_flags(CREATE_NEW_PROCESS_GROUP | CREATE_NO_WINDOW);
        let child = command.spawn().map_err(failed)?;
        job.assign(&child).map_err(|failure| (failure, 1))?;
        copy(reader, Arc::clone(output));
        Ok(Self {
            child,
            job: Arc::new(job),
        })
    }

    /// `None` while the process runs.
    pub fn exit_code(&mut self) -> Option<i32> {
        match self.child.try_wait() {
            Ok(Some(status)) => Some(status.code().unwrap_or(1)),
            _ => None,
        }
    }

    /// Sends Ctrl+Break; kills the process if that fails. Does not wait: a console
    /// that does not respond must not keep the service from stopping.
    pub fn request_stop(&self) {
        let (process, job) = (self.child.id(), Arc::clone(&self.job));
        thread::spawn(move || {
            if !send_ctrl_break(process) {
                job.terminate();
            }
        });
    }

    pub fn kill(&self) {
        self.job.terminate();
    }
}

/// A process can only be asked to exit through its console. The child has its own
/// console without a window; the service host has none and can attach to that one.
fn send_ctrl_break(process: u32) -> bool {
    // SAFETY: plain numbers, and a function that lives as long as the program. The
    // process leads its own group, so no other process gets the event, and
    // everything attached to its console ignores it.
    unsafe {
        SetConsoleCtrlHandler(Some(ignore_signal), 1);
        FreeConsole();
        if AttachConsole(process) == 0 {
            return false;
        }
        let pressed = GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, process);
        FreeConsole();
        pressed != 0
    }
}

/// Marks every console signal as handled: only the Service Control Manager stops the
/// service host.
unsafe extern "system" fn ignore_signal(_signal: u32) -> BOOL {
    1
}

/// Ends when the last handle of the pipe is closed, which may be long after the
/// program exits: its children may have inherited it.
fn copy(mut reader: PipeReader, output: Output) {
    thread::spawn(move || {
        let mut buffer = [0; 8192];
        while let Ok(count @ 1..) = reader.read(&mut buffer) {
            write(&output, buffer.get(..count).unwrap_or_default());
        }
    });
}

/// A full disk must not stop the program, so output that cannot be written is lost.
pub fn write(output: &Output, bytes: &[u8]) {
    let mut log = output
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(log) = log.as_mut() {
        let _ = log.write_all(bytes);
    }
}
