//! The socket file, which holds the port, as in Cygwin.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ptr::{null, null_mut};

use windows_sys::Win32::Foundation::{
    CloseHandle, ERROR_ALREADY_EXISTS, ERROR_FILE_EXISTS, GENERIC_READ, GENERIC_WRITE,
    GetLastError, HANDLE, INVALID_HANDLE_VALUE,
};
use windows_sys::Win32::Networking::WinSock as ws;
use windows_sys::Win32::Storage::FileSystem as fs;

use crate::{linux, paths, wide};

const MAGIC: &str = "!<lab socket>";

/// A socket file without a port yet; removed on drop unless published.
pub struct Reserved {
    path: String,
    handle: HANDLE,
    published: bool,
}

impl Reserved {
    /// Fails if the file exists, as on every system: the program must remove the
    /// old socket first.
    pub fn new(path: &str) -> Result<Self, ws::WSA_ERROR> {
        let handle = open(path, GENERIC_WRITE, fs::CREATE_NEW);
        if handle != INVALID_HANDLE_VALUE {
            return Ok(Self {
                path: path.into(),
                handle,
                published: false,
            });
        }
        // SAFETY: reads a thread-local value.
        match unsafe { GetLastError() } {
            ERROR_FILE_EXISTS | ERROR_ALREADY_EXISTS => Err(ws::WSAEADDRINUSE),
            // The error of Windows for a missing directory.
            _ => Err(ws::WSAENETDOWN),
        }
    }

    /// Clients can connect from now on.
    pub fn publish(mut self, port: u16) -> Result<(), ws::WSA_ERROR> {
        let content = format!("{MAGIC}{port}\n");
        let mut written = 0;
        // SAFETY: the content is valid for its length.
        let result = unsafe {
            fs::WriteFile(
                self.handle,
                content.as_ptr(),
                content.len() as u32,
                &mut written,
                null_mut(),
            )
        };
        self.published = result != 0;
        if !self.published {
            return Err(ws::WSAENETDOWN);
        }
        // Only makes the file show as a socket; connecting works without it.
        let path: Vec<u16> = self.path.encode_utf16().collect();
        if let (true, Some(path)) = (linux::available(), paths::to_unix(&path)) {
            let _ = linux::mark_socket(&path);
        }
        Ok(())
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        // SAFETY: the handle is ours.
        unsafe {
            CloseHandle(self.handle);
            if !self.published {
                fs::DeleteFileW(wide::terminated(&self.path).as_ptr());
            }
        }
    }
}

/// `None` if the file is missing or not a socket file.
pub fn port(path: &str) -> Option<u16> {
    let handle = open(path, GENERIC_READ, fs::OPEN_EXISTING);
    if handle == INVALID_HANDLE_VALUE {
        return None;
    }
    let mut content = [0u8; 32];
    let mut read = 0;
    // SAFETY: the buffer has the given size, the handle is ours.
    let result = unsafe {
        let result = fs::ReadFile(
            handle,
            content.as_mut_ptr(),
            content.len() as u32,
            &mut read,
            null_mut(),
        );
        CloseHandle(handle);
        result
    };
    if result == 0 {
        return None;
    }
    let content = core::str::from_utf8(content.get(..read as usize)?).ok()?;
    content.strip_prefix(MAGIC)?.trim_end().parse().ok()
}

fn open(path: &str, access: u32, disposition: u32) -> HANDLE {
    let share = fs::FILE_SHARE_READ | fs::FILE_SHARE_WRITE | fs::FILE_SHARE_DELETE;
    // SAFETY: the path is NUL-terminated.
    unsafe {
        fs::CreateFileW(
            wide::terminated(path).as_ptr(),
            access,
            share,
            null(),
            disposition,
            fs::FILE_ATTRIBUTE_NORMAL,
            null_mut(),
        )
    }
}
