//! The connection to the service `casement`: a named pipe that only administrators
//! of this host can open and only the service can create.
#![allow(unsafe_code, reason = "pipe functions of the Windows API")]

use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle, RawHandle};
use std::ptr;
use std::time::Duration;

use casement_resource::service_names::CASEMENT;
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
use super::failure::{last_error, system};
use super::pipe::{Pending, PipeStream, started};
use super::retry_timer::RetryTimer;
use super::scm::{self, Registration};
use super::security::{Descriptor, check_program};
use super::services::agent;
use super::wide::wide;
use crate::platform::Result;
use crate::service_client::{Duplex, Listener, ServiceClient};
use crate::state::Layout;

const PIPE: &str = r"\\.\pipe\casement-agent";
/// SYSTEM and Administrators only.
const PIPE_ACCESS: &str = "D:P(A;;GA;;;SY)(A;;GA;;;BA)";
const BUFFER: u32 = 64 * 1024;
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// The client side, used by the channel process.
#[derive(Debug)]
pub struct PipeClient {
    layout: Layout,
}

impl PipeClient {
    pub fn new(layout: &Layout) -> Self {
        Self {
            layout: layout.clone(),
        }
    }

    /// Registers the service with this agent. A running service keeps the agent that
    /// it was started with.
    fn install(&self) -> Result<()> {
        let program = agent()?;
        check_program(&program)?;
        if let Some(found) = scm::query(CASEMENT)? {
            if !is_agent(&found.command_line, &["serve"]) {
                return Err(Failure::new(
                    Code::Foreign,
                    format!("a service named `{CASEMENT}` exists that casement did not create"),
                    "delete or rename that service, then run `casement apply` again",
                )
                .found(found.command_line));
            }
            if found.state != ServiceState::Stopped {
                return Ok(());
            }
        }
        event_log::register()?;
        scm::register(&Registration {
            name: CASEMENT.to_owned(),
            display_name: CASEMENT.to_owned(),
            description: "Configures this host as a Kubernetes node. Managed by casement."
                .to_owned(),
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

impl ServiceClient for PipeClient {
    fn connect(&self) -> Result<Duplex> {
        self.install()?;
        scm::start(CASEMENT, START_TIMEOUT)?;
        let mut retry_timer = RetryTimer::new(START_TIMEOUT);
        loop {
            match open() {
                Ok(pipe) => {
                    check_server(&pipe)?;
                    return Ok(PipeStream::new(pipe).split());
                }
                Err(error) if is_not_ready(&error) && retry_timer.wait() => {}
                Err(error) => {
                    return Err(Failure::new(
                        Code::ServiceUnreachable,
                        format!("failed to connect to the service `{CASEMENT}`: {error}"),
                        format!(
                            "restart the service `{CASEMENT}`, then run `casement apply` again"
                        ),
                    ));
                }
            }
        }
    }

    fn retire(&self) -> Result<()> {
        let Some(found) = scm::query(CASEMENT)? else {
            return Ok(());
        };
        if is_agent(&found.command_line, &["serve"]) {
            scm::stop(CASEMENT)?;
            scm::delete(CASEMENT)?;
            event_log::unregister()?;
        }
        Ok(())
    }
}

fn open() -> io::Result<OwnedHandle> {
    let name = wide(PIPE);
    // The server may identify the client, but not impersonate it.
    let flags = FILE_FLAG_OVERLAPPED | SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION;
    // SAFETY: NUL-terminated text, no attributes, no template.
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
    into_owned(handle)
}

fn into_owned(handle: RawHandle) -> io::Result<OwnedHandle> {
    if handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened, and owned by nobody else.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

fn is_not_ready(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error().map(i32::cast_unsigned),
        Some(ERROR_FILE_NOT_FOUND | ERROR_PIPE_BUSY)
    )
}

/// Any process could have created a pipe with this name before the service did.
fn check_server(pipe: &OwnedHandle) -> Result<()> {
    let mut server = 0;
    // SAFETY: an open pipe and a writable pointer.
    if unsafe { GetNamedPipeServerProcessId(pipe.as_raw_handle(), &mut server) } == 0 {
        return Err(last_error("read the server process of the pipe"));
    }
    let process = scm::query(CASEMENT)?.and_then(|service| service.process);
    if process == Some(server) {
        return Ok(());
    }
    Err(Failure::new(
        Code::ServiceUnreachable,
        format!("the pipe `{PIPE}` belongs to a process that is not the service"),
        "find and stop that process, then run `casement apply` again",
    )
    .values(
        process.map_or_else(|| "no process".to_owned(), |id| format!("process {id}")),
        format!("process {server}"),
    ))
}

/// The listener of the service.
pub struct PipeListener {
    next: OwnedHandle,
    stop: OwnedHandle,
}

impl PipeListener {
    /// Fails if another process has created the pipe already. `stop` is an event
    /// that cancels [`Listener::accept`].
    pub fn open(stop: OwnedHandle) -> Result<Self> {
        let next = instance(FILE_FLAG_FIRST_PIPE_INSTANCE).map_err(|error| {
            Failure::new(
                Code::ServiceUnreachable,
                format!("failed to create the pipe `{PIPE}`: {error}"),
                "another process has a pipe with this name: find and stop it",
            )
        })?;
        Ok(Self { next, stop })
    }
}

impl Listener for PipeListener {
    fn accept(&mut self) -> Result<Option<Duplex>> {
        let failed = |error: io::Error| system("wait for a connection", &error);
        let handle = self.next.as_raw_handle();
        let mut pending = Pending::new().map_err(failed)?;
        // SAFETY: an open pipe, and an OVERLAPPED that outlives the operation.
        let result = unsafe { ConnectNamedPipe(handle, pending.state()) };
        match started(result) {
            Err(error) if is_connected(&error) => {}
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
        Ok(Some(PipeStream::new(connected).split()))
    }
}

fn is_connected(error: &io::Error) -> bool {
    error.raw_os_error().map(i32::cast_unsigned) == Some(ERROR_PIPE_CONNECTED)
}

/// A new pipe instance for the next client.
fn instance(flags: u32) -> io::Result<OwnedHandle> {
    let descriptor = Descriptor::parse(PIPE_ACCESS).map_err(io::Error::other)?;
    let attributes = SECURITY_ATTRIBUTES {
        nLength: u32::try_from(size_of::<SECURITY_ATTRIBUTES>()).unwrap_or(u32::MAX),
        lpSecurityDescriptor: descriptor.as_ptr(),
        bInheritHandle: 0,
    };
    let name = wide(PIPE);
    // SAFETY: NUL-terminated text, and attributes that outlive the call.
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
    into_owned(handle)
}
