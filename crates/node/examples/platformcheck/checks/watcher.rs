//! A program that watches a directory, as containerd watches its CNI configuration.
#![allow(unsafe_code, reason = "directory notifications of the Windows API")]

use std::fs::{self, File};
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::AsRawHandle;
use std::path::{Path, PathBuf};
use std::ptr;

use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OVERLAPPED, FILE_LIST_DIRECTORY,
    FILE_NOTIFY_CHANGE_FILE_NAME, ReadDirectoryChangesW,
};
use windows_sys::Win32::System::IO::{GetOverlappedResult, OVERLAPPED};

/// `FILE_ACTION_…` and the name of the file.
pub type Notification = (u32, String);

/// Enough for some hundred notifications.
const BUFFER_WORDS: usize = 4096;

/// The file whose creation ends the collection.
const LAST: &str = "last";

pub struct Watcher {
    dir: PathBuf,
    request: Request,
}

/// An outstanding request for notifications. Windows writes to both boxes until it is
/// complete, so they are not moved.
struct Request {
    handle: File,
    buffer: Box<[u32; BUFFER_WORDS]>,
    overlapped: Box<OVERLAPPED>,
}

impl Watcher {
    /// Windows collects notifications from the first request on.
    pub fn start(dir: &Path) -> Self {
        let handle = fs::OpenOptions::new()
            .access_mode(FILE_LIST_DIRECTORY)
            .custom_flags(FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OVERLAPPED)
            .open(dir)
            .unwrap();
        Self {
            dir: dir.to_owned(),
            request: Request::send(handle),
        }
    }

    /// The notifications of files whose name starts with `name`.
    pub fn finish(self, name: &str) -> Vec<Notification> {
        let last = self.dir.join(LAST);
        fs::write(&last, "").unwrap();
        let (mut all, mut request) = (Vec::new(), self.request);
        loop {
            let (notifications, handle) = request.wait();
            all.extend(notifications);
            if all.iter().any(|(_, name)| name == LAST) {
                break;
            }
            request = Request::send(handle);
        }
        fs::remove_file(last).unwrap();
        all.retain(|(_, it)| it.starts_with(name));
        all
    }
}

impl Request {
    fn send(handle: File) -> Self {
        let mut request = Self {
            handle,
            buffer: Box::new([0; BUFFER_WORDS]),
            overlapped: Box::default(),
        };
        // SAFETY: an open directory, a writable buffer with its size in bytes, and an
        // operation; both boxes live until `wait`.
        let sent = unsafe {
            ReadDirectoryChangesW(
                request.handle.as_raw_handle(),
                request.buffer.as_mut_ptr().cast(),
                u32::try_from(size_of_val(&*request.buffer)).unwrap(),
                0,
                FILE_NOTIFY_CHANGE_FILE_NAME,
                ptr::null_mut(),
                &mut *request.overlapped,
                None,
            )
        };
        assert_ne!(sent, 0, "{}", std::io::Error::last_os_error());
        request
    }

    fn wait(self) -> (Vec<Notification>, File) {
        let mut length = 0;
        // SAFETY: the directory and the operation of `send`, and a result.
        let done = unsafe {
            GetOverlappedResult(
                self.handle.as_raw_handle(),
                &*self.overlapped,
                &mut length,
                1,
            )
        };
        assert_ne!(done, 0, "{}", std::io::Error::last_os_error());
        assert_ne!(length, 0, "notifications were lost");
        (parse(&self.buffer[..]), self.handle)
    }
}

/// Entries of three numbers (offset of the next entry, action, length of the name in
/// bytes) and a name in UTF-16. Wine does not align them.
fn parse(buffer: &[u32]) -> Vec<Notification> {
    let bytes: Vec<u8> = buffer.iter().flat_map(|word| word.to_le_bytes()).collect();
    let (mut all, mut entry) = (Vec::new(), &bytes[..]);
    loop {
        let number = |at: usize| u32::from_le_bytes(entry[at..at + 4].try_into().unwrap());
        let (next, action, length) = (number(0), number(4), number(8));
        let units = entry[12..12 + length as usize].chunks_exact(2);
        let name: Vec<u16> = units
            .map(|unit| u16::from_le_bytes([unit[0], unit[1]]))
            .collect();
        all.push((action, String::from_utf16_lossy(&name)));
        if next == 0 {
            return all;
        }
        entry = &entry[next as usize..];
    }
}
