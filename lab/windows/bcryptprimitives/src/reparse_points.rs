//! Reparse points: symbolic links and socket files.
//!
//! Wine 8 does not support `CreateSymbolicLinkW`, but the kubelet needs it: its
//! current client certificate is a link that each rotation replaces by a rename,
//! and every projected volume (service account tokens, config maps) is a
//! directory of links to `..data`, itself a link to a timestamped directory.
//!
//! Links are created as Unix symbolic links in the Wine prefix. Wine follows
//! them transparently, so every program can read through them. But Wine does not
//! show them: it has no reparse points, deletes the target instead of the link,
//! and reports a dangling link as not found. So this module also replaces the
//! functions with which Go and Rust read, rename and remove a link, and those
//! that identify a socket file, which the kubelet uses to remove sockets of its
//! previous run:
//!
//! * [`names`]: functions that take a path,
//! * [`handles`]: opening a link itself, and functions that take its handle,
//! * [`contents`]: the target of a link,
//! * [`listings`]: directory listings.

mod contents;
mod handles;
mod listings;
mod names;

use alloc::ffi::CString;
use core::ffi::CStr;

use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::Storage::FileSystem::{
    FILE_ATTRIBUTE_ARCHIVE, FILE_ATTRIBUTE_DIRECTORY, FILE_ATTRIBUTE_REPARSE_POINT,
};

use crate::hooks::Hook;
use crate::linux::{self, Kind};
use crate::paths;

/// `IO_REPARSE_TAG_SYMLINK`.
const SYMLINK_TAG: u32 = 0xA000_000C;
/// `IO_REPARSE_TAG_AF_UNIX`.
const SOCKET_TAG: u32 = 0x8000_0023;

/// Whether this version of Wine needs and allows the replacement.
pub fn needed() -> bool {
    linux::available()
}

pub fn hooks() -> [Hook; 15] {
    [
        (c"CreateSymbolicLinkW", names::create as *const ()),
        (c"GetFileAttributesW", names::attributes as *const ()),
        (c"GetFileAttributesExW", names::attributes_ex as *const ()),
        (c"DeleteFileW", names::delete_file as *const ()),
        (c"RemoveDirectoryW", names::remove_directory as *const ()),
        (c"MoveFileExW", names::move_file as *const ()),
        (c"CreateFileW", handles::create_file as *const ()),
        (c"NtCreateFile", handles::nt_create_file as *const ()),
        (c"NtOpenFile", handles::nt_open_file as *const ()),
        (
            c"NtSetInformationFile",
            handles::nt_set_information as *const (),
        ),
        (
            c"SetFileInformationByHandle",
            handles::set_information as *const (),
        ),
        (c"CloseHandle", handles::close as *const ()),
        (
            c"GetFileInformationByHandle",
            handles::information as *const (),
        ),
        (
            c"GetFileInformationByHandleEx",
            listings::information_ex as *const (),
        ),
        (c"DeviceIoControl", contents::device_io_control as *const ()),
    ]
}

/// The Unix path of a symbolic link or socket file; `None` for any other path.
fn reparse_point_at(path: &[u16]) -> Option<CString> {
    if paths::ends_in_separator(path) {
        return None;
    }
    let path = paths::to_unix(path)?;
    match linux::status(&path)?.kind {
        Kind::Symlink | Kind::Socket => Some(path),
        Kind::Directory | Kind::Other => None,
    }
}

/// The properties that Windows reports for a reparse point.
struct ReparsePoint {
    attributes: u32,
    tag: u32,
    modified: FILETIME,
    index: u64,
}

impl ReparsePoint {
    fn of(point: &CStr) -> Option<Self> {
        let status = linux::status(point)?;
        let target = || linux::target_status(point).map(|target| target.kind);
        let (extra_attributes, tag) = match status.kind {
            Kind::Symlink if target() == Some(Kind::Directory) => {
                (FILE_ATTRIBUTE_DIRECTORY, SYMLINK_TAG)
            }
            Kind::Symlink => (0, SYMLINK_TAG),
            _ => (FILE_ATTRIBUTE_ARCHIVE, SOCKET_TAG),
        };
        Some(Self {
            attributes: FILE_ATTRIBUTE_REPARSE_POINT | extra_attributes,
            tag,
            modified: file_time(status.modified),
            index: status.inode,
        })
    }
}

/// A FILETIME counts units of 100 ns since 1601.
fn file_time((seconds, nanoseconds): (i64, i64)) -> FILETIME {
    const SECONDS_1601_TO_1970: i64 = 11_644_473_600;
    let ticks = (seconds + SECONDS_1601_TO_1970) * 10_000_000 + nanoseconds / 100;
    FILETIME {
        dwLowDateTime: ticks as u32,
        dwHighDateTime: (ticks >> 32) as u32,
    }
}
