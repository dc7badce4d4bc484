//! The Linux system calls that reparse points need.
//!
//! A program under Wine is an ordinary Linux process, and Wine 8 and 9 do not
//! intercept its `syscall` instruction, so a Windows DLL can call the kernel.
//! Later versions intercept system calls to emulate those of Windows; they also
//! support symbolic links, so [`available`] is false there and Wine's functions
//! are used.

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
    pub inode: u64,
    pub kind: Kind,
    /// Seconds and nanoseconds since 1970.
    pub modified: (i64, i64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Symlink,
    /// A socket file, see [`mark_socket`].
    Socket,
    Directory,
    Other,
}

/// Permissions of a socket file. The sticky bit has no meaning on a regular
/// file, so it marks socket files and costs only a `stat`.
const SOCKET_MODE: u64 = 0o1666;

/// Whether this version of Wine passes system calls to the kernel.
pub fn available() -> bool {
    // SAFETY: `wine_get_version` takes no arguments and returns a static string.
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

/// `None` if the path is not a symbolic link.
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

pub fn symlink(target: &CStr, link: &CStr) -> Result<(), Errno> {
    let paths = [target.as_ptr() as usize, link.as_ptr() as usize, 0];
    // SAFETY: both paths are NUL-terminated.
    unsafe { call(number::SYMLINK, paths) }.map(drop)
}

/// Removes a file or a symbolic link.
pub fn remove(path: &CStr) -> Result<(), Errno> {
    // SAFETY: the path is NUL-terminated.
    unsafe { call(number::UNLINK, [path.as_ptr() as usize, 0, 0]) }.map(drop)
}

/// Renames a file, directory or symbolic link; replaces an existing target.
pub fn rename(from: &CStr, to: &CStr) -> Result<(), Errno> {
    let paths = [from.as_ptr() as usize, to.as_ptr() as usize, 0];
    // SAFETY: both paths are NUL-terminated.
    unsafe { call(number::RENAME, paths) }.map(drop)
}

pub fn mark_socket(path: &CStr) -> Result<(), Errno> {
    let arguments = [path.as_ptr() as usize, SOCKET_MODE as usize, 0];
    // SAFETY: the path is NUL-terminated.
    unsafe { call(number::CHMOD, arguments) }.map(drop)
}

/// Does not follow symbolic links.
pub fn status(path: &CStr) -> Option<Status> {
    stat(number::LSTAT, path)
}

/// Follows symbolic links.
pub fn target_status(path: &CStr) -> Option<Status> {
    stat(number::STAT, path)
}

fn stat(number: usize, path: &CStr) -> Option<Status> {
    const FIELDS: usize = 18;
    let mut fields = [0u64; FIELDS];
    // SAFETY: `struct stat` has 144 bytes on x86-64.
    unsafe {
        call(
            number,
            [path.as_ptr() as usize, fields.as_mut_ptr() as usize, 0],
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
    ] = fields;
    Some(Status {
        inode,
        kind: kind(mode),
        modified: (seconds.cast_signed(), nanoseconds.cast_signed()),
    })
}

/// `mode` is `st_mode`; its upper half is another field.
fn kind(mode: u64) -> Kind {
    const FORMAT: u64 = 0o170_000;
    const STICKY: u64 = SOCKET_MODE & 0o1000;
    match (mode & FORMAT, mode & STICKY) {
        (0o120_000, _) => Kind::Symlink,
        (0o040_000, _) => Kind::Directory,
        (0o100_000, STICKY) => Kind::Socket,
        _ => Kind::Other,
    }
}

/// `None` if the path contains a NUL.
pub fn path(bytes: Vec<u8>) -> Option<CString> {
    CString::new(bytes).ok()
}

impl Errno {
    /// The corresponding Windows error.
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
    const LOWEST_ERROR: isize = -4095;
    let result: isize;
    // SAFETY: the x86-64 Linux calling convention; the caller guarantees the arguments.
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
        LOWEST_ERROR..0 => Err(Errno(i32::try_from(-result).unwrap_or(i32::MAX))),
        _ => Ok(result.cast_unsigned()),
    }
}
