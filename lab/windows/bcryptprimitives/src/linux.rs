//! The few Linux system calls that reparse points need.
//!
//! A program under Wine is an ordinary Linux process, and Wine 8 and 9 leave
//! its `syscall` instruction alone, so a Windows DLL can call the kernel that
//! carries it. Later versions catch system calls in order to emulate Windows'
//! own; they also know symbolic links by themselves, so [`available`] says no
//! there and Wine's own functions are used.

use alloc::ffi::CString;
use alloc::vec::Vec;
use core::arch::asm;
use core::ffi::{CStr, c_char};
use core::mem::transmute;

use windows_sys::Win32::Foundation::{
    ERROR_ACCESS_DENIED, ERROR_ALREADY_EXISTS, ERROR_DIR_NOT_EMPTY, ERROR_FILE_NOT_FOUND,
    ERROR_GEN_FAILURE, ERROR_PATH_NOT_FOUND, WIN32_ERROR,
};
use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleA, GetProcAddress};

/// Numbers of the x86-64 system call table.
mod number {
    pub const STAT: usize = 4;
    pub const LSTAT: usize = 6;
    pub const RENAME: usize = 82;
    pub const UNLINK: usize = 87;
    pub const SYMLINK: usize = 88;
    pub const READLINK: usize = 89;
    pub const CHMOD: usize = 90;
}

const PATH_MAX: usize = 4096;

/// A Linux `errno`.
#[derive(Debug, Clone, Copy)]
pub struct Errno(i32);

/// The parts of `struct stat` that are used here.
pub struct Status {
    /// Number of the inode.
    pub inode: u64,
    /// What it is.
    pub kind: Kind,
    /// Last change, in seconds and nanoseconds since 1970.
    pub changed: (i64, i64),
}

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A symbolic link.
    Link,
    /// The file of a socket, see [`mark_socket`].
    Socket,
    /// A folder.
    Folder,
    /// Anything else.
    Other,
}

/// Permissions of a socket's file. The sticky bit means nothing on a file, so
/// it can tell these from all others at the price of a `stat`.
const SOCKET_MODE: u64 = 0o1666;

/// Whether this Wine lets system calls through.
pub fn available() -> bool {
    // SAFETY: `wine_get_version` takes nothing and gives a static string.
    let version = unsafe {
        let ntdll = GetModuleHandleA(c"ntdll.dll".as_ptr().cast());
        let Some(function) = GetProcAddress(ntdll, c"wine_get_version".as_ptr().cast()) else {
            return false;
        };
        let version: unsafe extern "C" fn() -> *const c_char = transmute(function);
        CStr::from_ptr(version())
    };
    matches!(version.to_bytes(), [b'8' | b'9', b'.', ..])
}

/// Where a link points to; `None` if it is no link.
pub fn read_link(path: &CStr) -> Option<Vec<u8>> {
    let mut target = Vec::with_capacity(PATH_MAX);
    // SAFETY: path and buffer are valid; the kernel writes at most PATH_MAX bytes.
    unsafe {
        let length = call(
            number::READLINK,
            [
                path.as_ptr() as usize,
                target.as_mut_ptr() as usize,
                PATH_MAX,
            ],
        )
        .ok()?;
        target.set_len(length);
    }
    Some(target)
}

/// Makes a link.
pub fn make_link(target: &CStr, link: &CStr) -> Result<(), Errno> {
    let paths = [target.as_ptr() as usize, link.as_ptr() as usize, 0];
    // SAFETY: both paths are NUL-terminated.
    unsafe { call(number::SYMLINK, paths) }.map(drop)
}

/// Removes a file or a link.
pub fn remove(path: &CStr) -> Result<(), Errno> {
    // SAFETY: the path is NUL-terminated.
    unsafe { call(number::UNLINK, [path.as_ptr() as usize, 0, 0]) }.map(drop)
}

/// Renames a file, a folder or a link, over whatever bears the new name.
pub fn rename(from: &CStr, to: &CStr) -> Result<(), Errno> {
    let paths = [from.as_ptr() as usize, to.as_ptr() as usize, 0];
    // SAFETY: both paths are NUL-terminated.
    unsafe { call(number::RENAME, paths) }.map(drop)
}

/// Marks the file of a socket as one.
pub fn mark_socket(path: &CStr) -> Result<(), Errno> {
    let arguments = [path.as_ptr() as usize, SOCKET_MODE as usize, 0];
    // SAFETY: the path is NUL-terminated.
    unsafe { call(number::CHMOD, arguments) }.map(drop)
}

/// The status of a path, of the link itself where it is one.
pub fn status(path: &CStr) -> Option<Status> {
    ask(number::LSTAT, path)
}

/// The status of what a path leads to.
pub fn target_status(path: &CStr) -> Option<Status> {
    ask(number::STAT, path)
}

fn ask(number: usize, path: &CStr) -> Option<Status> {
    const WORDS: usize = 18;
    let mut words = [0u64; WORDS];
    // SAFETY: `struct stat` has 144 bytes on x86-64.
    unsafe {
        call(
            number,
            [path.as_ptr() as usize, words.as_mut_ptr() as usize, 0],
        )
    }
    .ok()?;
    let [
        _,
        inode,
        _,
        mode,
        _,
        _,
        _,
        _,
        _,
        _,
        _,
        seconds,
        nanoseconds,
        ..,
    ] = words;
    Some(Status {
        inode,
        kind: kind(mode),
        changed: (seconds.cast_signed(), nanoseconds.cast_signed()),
    })
}

/// By `st_mode`, whose upper half is another field.
fn kind(mode: u64) -> Kind {
    const FORMAT: u64 = 0o170_000;
    const STICKY: u64 = SOCKET_MODE & 0o1000;
    match (mode & FORMAT, mode & STICKY) {
        (0o120_000, _) => Kind::Link,
        (0o040_000, _) => Kind::Folder,
        (0o100_000, STICKY) => Kind::Socket,
        _ => Kind::Other,
    }
}

/// A path for the kernel; `None` if it has a NUL inside.
pub fn path(bytes: Vec<u8>) -> Option<CString> {
    CString::new(bytes).ok()
}

impl Errno {
    /// What Windows would say.
    pub fn win32(self) -> WIN32_ERROR {
        match self.0 {
            1 | 13 | 21 => ERROR_ACCESS_DENIED,
            2 => ERROR_FILE_NOT_FOUND,
            17 => ERROR_ALREADY_EXISTS,
            20 => ERROR_PATH_NOT_FOUND,
            39 => ERROR_DIR_NOT_EMPTY,
            _ => ERROR_GEN_FAILURE,
        }
    }
}

unsafe fn call(number: usize, [first, second, third]: [usize; 3]) -> Result<usize, Errno> {
    const LEAST_ERROR: isize = -4095;
    let result: isize;
    // SAFETY: Linux' x86-64 convention; the caller vouches for the arguments.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") first,
            in("rsi") second,
            in("rdx") third,
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
    match result {
        LEAST_ERROR..0 => Err(Errno(i32::try_from(-result).unwrap_or(i32::MAX))),
        _ => Ok(result.cast_unsigned()),
    }
}
