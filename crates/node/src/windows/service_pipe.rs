//! The way to the service `casement`: a named pipe that only administrators of
//! this host can open, and that only the service can serve.
#![allow(unsafe_code, reason = "pipe functions of the Windows API")]

use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle, RawHandle};
use std::ptr;
use std::time::Duration;

use casement_resource::{Code, Failure};
use windows_service::service::{ServiceStartType, ServiceState};
use windows_sys::Win32::Foundation::{
    ERROR_FILE_NOT_FOUND, ERROR_PIPE_BUSY, ERROR_PIPE_CONNECTED, GENERIC_READ, GENERIC_WRITE,
    INVALID_HANDLE_VALUE, WAIT_OBJECT_0,
};
use windows_sys::Win32::Security::SECURITY_ATTRIBUTES;
use windows_sys::Win32::Storage::FileSystem::{
    CreateFileW, FILE_FLAG_FIRST_PIPE_INSTANCE, FILE_FLAG_OVERLAPPED, OPEN_EXISTING,
    PIPE_ACCESS_DUPLEX, SECURITY_IDENTIFICATION, SECURITY_SQOS_PRESENT,
};
use windows_sys::Win32::System::Pipes::{
    ConnectNamedPipe, CreateNamedPipeW, GetNamedPipeServerProcessId, PIPE_READMODE_BYTE,
    PIPE_REJECT_REMOTE_CLIENTS, PIPE_TYPE_BYTE, PIPE_UNLIMITED_INSTANCES, PIPE_WAIT,
};
use windows_sys::Win32::System::Threading::{INFINITE, WaitForMultipleObjects};

use super::command_line::is_agent;
use super::event_log;
use super::failure::{last, system};
use super::patience::Patience;
use super::pipe::{Pending, PipeEnd, begun};
use super::scm::{self, Registration};
use super::security::{Descriptor, check_program};
use super::services::agent;
use super::wide::wide;
use crate::backstage::{Backstage, Duplex, Listener};
use crate::platform::Result;
use crate::state::Layout;

/// The service's name.
pub const SERVICE: &str = "casement";
const PIPE: &str = r"\\.\pipe\casement-agent";
/// SYSTEM and Administrators.
const PIPE_ACCESS: &str = "D:P(A;;GA;;;SY)(A;;GA;;;BA)";
const BUFFER: u32 = 64 * 1024;
const START: Duration = Duration::from_secs(30);

/// The channel's side.
#[derive(Debug)]
pub struct Gate {
    layout: Layout,
}

impl Gate {
    /// For the service that keeps its state in this layout.
    pub fn new(layout: &Layout) -> Self {
        Self {
            layout: layout.clone(),
        }
    }

    /// Registers the service with this agent; one that runs keeps the agent
    /// that it was started with.
    fn install(&self) -> Result<()> {
        let program = agent()?;
        check_program(&program)?;
        if let Some(found) = scm::query(SERVICE)? {
            if !is_agent(&found.command_line, &["serve"]) {
                return Err(Failure::new(
                    Code::Foreign,
                    format!("a service `{SERVICE}` exists that is not casement's"),
                    "delete or rename that service, then apply again",
                )
                .found(found.command_line));
            }
            if found.state != ServiceState::Stopped {
                return Ok(());
            }
        }
        event_log::register()?;
        scm::register(&Registration {
            name: SERVICE.to_owned(),
            display_name: "casement".to_owned(),
            description: "Makes this host what its cluster needs. Made by casement.".to_owned(),
            program,
            arguments: vec![
                "--state-dir".into(),
                self.layout.root().into(),
                "serve".into(),
            ],
            dependencies: Vec::new(),
            start: ServiceStartType::AutoStart,
            restart: true,
        })
    }
}

impl Backstage for Gate {
    fn connect(&self) -> Result<Duplex> {
        self.install()?;
        scm::start(SERVICE, START)?;
        let mut patience = Patience::new(START);
        loop {
            match open() {
                Ok(pipe) => {
                    check_server(&pipe)?;
                    return Ok(PipeEnd::new(pipe).split());
                }
                Err(error) if comes_later(&error) && patience.wait() => {}
                Err(error) => {
                    return Err(Failure::new(
                        Code::Backstage,
                        format!("the service `{SERVICE}` does not answer: {error}"),
                        format!("restart the service `{SERVICE}`, then apply again"),
                    ));
                }
            }
        }
    }

    fn retire(&self) -> Result<()> {
        let Some(found) = scm::query(SERVICE)? else {
            return Ok(());
        };
        if is_agent(&found.command_line, &["serve"]) {
            scm::stop(SERVICE)?;
            scm::delete(SERVICE)?;
            event_log::unregister()?;
        }
        Ok(())
    }
}

fn open() -> io::Result<OwnedHandle> {
    let name = wide(PIPE);
    // The server may learn who calls, but not act in their name.
    let flags = FILE_FLAG_OVERLAPPED | SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION;
    // SAFETY: terminated text; neither attributes nor a template.
    let handle = unsafe {
        CreateFileW(
            name.as_ptr(),
            GENERIC_READ | GENERIC_WRITE,
            0,
            ptr::null(),
            OPEN_EXISTING,
            flags,
            ptr::null_mut(),
        )
    };
    own(handle)
}

fn own(handle: RawHandle) -> io::Result<OwnedHandle> {
    if handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened, and closed only by this owner.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

fn comes_later(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error().map(i32::cast_unsigned),
        Some(ERROR_FILE_NOT_FOUND | ERROR_PIPE_BUSY)
    )
}

/// Anybody could have made a pipe of that name before the service did.
fn check_server(pipe: &OwnedHandle) -> Result<()> {
    let mut server = 0;
    // SAFETY: an open pipe and a place.
    if unsafe { GetNamedPipeServerProcessId(pipe.as_raw_handle(), &mut server) } == 0 {
        return Err(last("ask whose pipe it is"));
    }
    let process = scm::query(SERVICE)?.and_then(|service| service.process);
    if process == Some(server) {
        return Ok(());
    }
    Err(Failure::new(
        Code::Backstage,
        format!("the pipe `{PIPE}` is served by a process that is not the service"),
        "find out what that process is, and end it; then apply again",
    )
    .values(
        process.map_or_else(|| "no process".to_owned(), |id| format!("process {id}")),
        format!("process {server}"),
    ))
}

/// The service's side.
pub struct Door {
    next: OwnedHandle,
    stop: OwnedHandle,
}

impl Door {
    /// Makes the pipe; refuses if somebody else has made it before. `stop` is
    /// an event that ends the waiting.
    pub fn open(stop: OwnedHandle) -> Result<Self> {
        let next = instance(FILE_FLAG_FIRST_PIPE_INSTANCE).map_err(|error| {
            Failure::new(
                Code::Backstage,
                format!("the pipe `{PIPE}` cannot be made: {error}"),
                "another process has a pipe of that name: find and end it",
            )
        })?;
        Ok(Self { next, stop })
    }
}

impl Listener for Door {
    fn accept(&mut self) -> Result<Option<Duplex>> {
        let failed = |error: io::Error| system("wait for a connection", &error);
        let handle = self.next.as_raw_handle();
        let mut pending = Pending::new().map_err(failed)?;
        // SAFETY: an open pipe, and a state that stays until the end, below.
        let result = unsafe { ConnectNamedPipe(handle, pending.state()) };
        match begun(result) {
            Err(error) if connected_already(&error) => {}
            Err(error) => return Err(failed(error)),
            Ok(()) => {
                let events = [pending.event(), self.stop.as_raw_handle()];
                // SAFETY: two open events.
                let first = unsafe { WaitForMultipleObjects(2, events.as_ptr(), 0, INFINITE) };
                if first != WAIT_OBJECT_0 {
                    pending.cancel(handle);
                    return Ok(None);
                }
                pending.finish(handle).map_err(failed)?;
            }
        }
        let connected = std::mem::replace(&mut self.next, instance(0).map_err(failed)?);
        Ok(Some(PipeEnd::new(connected).split()))
    }
}

fn connected_already(error: &io::Error) -> bool {
    error.raw_os_error().map(i32::cast_unsigned) == Some(ERROR_PIPE_CONNECTED)
}

/// One more end for a client to connect to.
fn instance(flags: u32) -> io::Result<OwnedHandle> {
    let descriptor = Descriptor::parse(PIPE_ACCESS).map_err(io::Error::other)?;
    let attributes = SECURITY_ATTRIBUTES {
        nLength: u32::try_from(size_of::<SECURITY_ATTRIBUTES>()).unwrap_or(u32::MAX),
        lpSecurityDescriptor: descriptor.as_ptr(),
        bInheritHandle: 0,
    };
    let name = wide(PIPE);
    // SAFETY: terminated text, and attributes that outlive the call.
    let handle = unsafe {
        CreateNamedPipeW(
            name.as_ptr(),
            PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED | flags,
            PIPE_TYPE_BYTE | PIPE_READMODE_BYTE | PIPE_WAIT | PIPE_REJECT_REMOTE_CLIENTS,
            PIPE_UNLIMITED_INSTANCES,
            BUFFER,
            BUFFER,
            0,
            &attributes,
        )
    };
    own(handle)
}
