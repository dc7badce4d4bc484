//! A named pipe whose two directions can be used at the same time.
//!
//! Windows lets only one operation at a time wait on a plain handle, so these
//! are opened for overlapped operations, and each side waits for its own.
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

use crate::backstage::Duplex;

/// One end of a pipe, shared by its two halves.
#[derive(Debug, Clone)]
pub struct PipeEnd(Arc<OwnedHandle>);

/// An operation that is under way, with the event that ends it.
pub struct Pending {
    // In a box, since Windows keeps its address.
    state: Box<OVERLAPPED>,
    event: OwnedHandle,
}

impl Pending {
    /// Nothing yet.
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

    /// For the call that begins the operation.
    pub fn state(&mut self) -> *mut OVERLAPPED {
        &raw mut *self.state
    }

    /// Is set when the operation has ended.
    pub fn event(&self) -> HANDLE {
        self.event.as_raw_handle()
    }

    /// Waits for the end.
    pub fn finish(&mut self, handle: HANDLE) -> io::Result<usize> {
        let mut count = 0;
        // SAFETY: the operation that was begun on this handle with this state.
        match unsafe { GetOverlappedResult(handle, &raw const *self.state, &mut count, 1) } {
            0 => Err(io::Error::last_os_error()),
            _ => Ok(count as usize),
        }
    }

    /// Gives the operation up and waits until Windows has let go of it.
    pub fn cancel(&mut self, handle: HANDLE) {
        // SAFETY: as above; one that has ended meanwhile is fine.
        unsafe { CancelIoEx(handle, &raw const *self.state) };
        let _ = self.finish(handle);
    }
}

/// An event that is set by hand and stays so.
pub fn event() -> io::Result<OwnedHandle> {
    // SAFETY: neither attributes nor a name.
    let event = unsafe { CreateEventW(ptr::null(), 1, 0, ptr::null()) };
    if event.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just made, and closed only by this owner.
    Ok(unsafe { OwnedHandle::from_raw_handle(event) })
}

/// Whether a call has begun an operation, or done it at once.
pub fn begun(result: i32) -> io::Result<()> {
    let error = io::Error::last_os_error();
    let pending = error.raw_os_error().map(i32::cast_unsigned) == Some(ERROR_IO_PENDING);
    if result != 0 || pending {
        Ok(())
    } else {
        Err(error)
    }
}

impl PipeEnd {
    /// Takes a handle over that was opened for overlapped operations.
    pub fn new(handle: OwnedHandle) -> Self {
        Self(Arc::new(handle))
    }

    /// Both halves.
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

/// The other side has closed.
fn is_end(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error().map(i32::cast_unsigned),
        Some(ERROR_BROKEN_PIPE | ERROR_NO_DATA | ERROR_PIPE_NOT_CONNECTED)
    )
}

impl Read for PipeEnd {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut pending = Pending::new()?;
        // SAFETY: a buffer that stays until the operation has ended, below.
        let result = unsafe {
            ReadFile(
                self.raw(),
                buffer.as_mut_ptr(),
                length(buffer),
                ptr::null_mut(),
                pending.state(),
            )
        };
        match begun(result).and_then(|()| pending.finish(self.raw())) {
            Err(error) if is_end(&error) => Ok(0),
            outcome => outcome,
        }
    }
}

impl Write for PipeEnd {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let mut pending = Pending::new()?;
        // SAFETY: a buffer that stays until the operation has ended, below.
        let result = unsafe {
            WriteFile(
                self.raw(),
                buffer.as_ptr(),
                length(buffer),
                ptr::null_mut(),
                pending.state(),
            )
        };
        begun(result).and_then(|()| pending.finish(self.raw()))
    }

    /// What was written is in the pipe, and the other side will read it.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
