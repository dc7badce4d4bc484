//! A named pipe with concurrent reads and writes.
//!
//! Windows serializes operations on a synchronous handle, so the pipe is opened for
//! overlapped I/O and each direction waits for its own operation.
#![allow(unsafe_code, reason = "pipe functions of the Windows API")]

use std::io::{self, Read, Write};
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr;
use std::sync::Arc;

use windows_sys::Win32::Foundation::{
    ERROR_BROKEN_PIPE, ERROR_IO_PENDING, ERROR_NO_DATA, ERROR_PIPE_NOT_CONNECTED, HANDLE,
};
use windows_sys::Win32::Storage::FileSystem::{ReadFile, WriteFile};
use windows_sys::Win32::System::IO::{CancelIoEx, GetOverlappedResult, OVERLAPPED};
use windows_sys::Win32::System::Threading::CreateEventW;

use crate::service_client::Duplex;

#[derive(Debug, Clone)]
pub struct PipeStream(Arc<OwnedHandle>);

/// A pending overlapped operation and its event.
pub struct Pending {
    // Boxed, because Windows keeps its address.
    state: Box<OVERLAPPED>,
    event: OwnedHandle,
}

impl Pending {
    pub fn new() -> io::Result<Self> {
        let event = event()?;
        let state = OVERLAPPED {
            hEvent: event.as_raw_handle(),
            ..OVERLAPPED::default()
        };
        Ok(Self {
            state: Box::new(state),
            event,
        })
    }

    /// Passed to the call that starts the operation.
    pub fn state(&mut self) -> *mut OVERLAPPED {
        &raw mut *self.state
    }

    /// Signaled when the operation has completed.
    pub fn event(&self) -> HANDLE {
        self.event.as_raw_handle()
    }

    pub fn finish(&mut self, handle: HANDLE) -> io::Result<usize> {
        let mut count = 0;
        // SAFETY: the operation that was started on this handle with this state.
        match unsafe { GetOverlappedResult(handle, &raw const *self.state, &mut count, 1) } {
            0 => Err(io::Error::last_os_error()),
            _ => Ok(count as usize),
        }
    }

    /// Cancels the operation and waits until Windows no longer uses its memory.
    pub fn cancel(&mut self, handle: HANDLE) {
        // SAFETY: as above; the operation may have completed already.
        unsafe { CancelIoEx(handle, &raw const *self.state) };
        let _ = self.finish(handle);
    }
}

/// A manual-reset event.
pub fn event() -> io::Result<OwnedHandle> {
    // SAFETY: no attributes and no name.
    let event = unsafe { CreateEventW(ptr::null(), 1, 0, ptr::null()) };
    if event.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just created, and owned by nobody else.
    Ok(unsafe { OwnedHandle::from_raw_handle(event) })
}

/// Ok if the operation is pending or has completed.
pub fn started(result: i32) -> io::Result<()> {
    let error = io::Error::last_os_error();
    let pending = error.raw_os_error().map(i32::cast_unsigned) == Some(ERROR_IO_PENDING);
    if result != 0 || pending {
        Ok(())
    } else {
        Err(error)
    }
}

impl PipeStream {
    /// The handle must be opened for overlapped I/O.
    pub fn new(handle: OwnedHandle) -> Self {
        Self(Arc::new(handle))
    }

    pub fn split(self) -> Duplex {
        Duplex {
            reader: Box::new(self.clone()),
            writer: Box::new(self),
        }
    }

    fn raw(&self) -> HANDLE {
        self.0.as_raw_handle()
    }
}

fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}

/// The peer has closed its end.
fn is_end(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error().map(i32::cast_unsigned),
        Some(ERROR_BROKEN_PIPE | ERROR_NO_DATA | ERROR_PIPE_NOT_CONNECTED)
    )
}

impl Read for PipeStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut pending = Pending::new()?;
        // SAFETY: the buffer outlives the operation, which completes below.
        let result = unsafe {
            ReadFile(
                self.raw(),
                buffer.as_mut_ptr(),
                length(buffer),
                ptr::null_mut(),
                pending.state(),
            )
        };
        match started(result).and_then(|()| pending.finish(self.raw())) {
            Err(error) if is_end(&error) => Ok(0),
            outcome => outcome,
        }
    }
}

impl Write for PipeStream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let mut pending = Pending::new()?;
        // SAFETY: the buffer outlives the operation, which completes below.
        let result = unsafe {
            WriteFile(
                self.raw(),
                buffer.as_ptr(),
                length(buffer),
                ptr::null_mut(),
                pending.state(),
            )
        };
        started(result).and_then(|()| pending.finish(self.raw()))
    }

    /// Written bytes are in the pipe already.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
