//! Reparse points: symbolic links, and the files of sockets.
//!
//! Wine 8 refuses `CreateSymbolicLinkW`, but the kubelet cannot do without:
//! its current client certificate is a link that each rotation renames over
//! the last one, and every projected volume (service account tokens, config
//! maps) is a folder of links to `..data`, itself a link to a folder with a
//! time stamp.
//!
//! Links are made as what they are in the prefix's file system: Unix links.
//! Wine follows those without knowing, so every program reads through them.
//! What it does not do is show them: it has no reparse points, it deletes what
//! a link leads to instead of the link, and a link whose target is missing is
//! not there at all. So the ways of Go and Rust to look at, rename and remove a
//! link are answered here too, and those to tell a socket's file from others, by which
//! the kubelet knows the sockets of its last run that it must remove:
//!
//! * [`names`]: functions that take a path,
//! * [`handles`]: opening a link itself, and functions that take its handle,
//! * [`listings`]: the contents of a folder.

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

use crate::answers::Answer;
use crate::linux::{self, Kind};
use crate::paths;

/// `IO_REPARSE_TAG_SYMLINK`.
const SYMLINK_TAG: u32 = 0xA000_000C;
/// `IO_REPARSE_TAG_AF_UNIX`.
const SOCKET_TAG: u32 = 0x8000_0023;

/// Whether links can and must be answered for in this Wine.
pub fn wanted() -> bool {
    linux::available()
}

/// The functions that this module stands in for.
pub fn answers() -> [Answer; 15] {
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

/// The Unix path of a link or a socket's file; `None` if the path names
/// anything else.
fn point_at(path: &[u16]) -> Option<CString> {
    if paths::ends_in_separator(path) {
        return None;
    }
    let path = paths::unix(path)?;
    match linux::status(&path)?.kind {
        Kind::Link | Kind::Socket => Some(path),
        Kind::Folder | Kind::Other => None,
    }
}

/// What Windows says of a reparse point.
struct Appearance {
    attributes: u32,
    tag: u32,
    changed: FILETIME,
    index: u64,
}

impl Appearance {
    fn of(point: &CStr) -> Option<Self> {
        let status = linux::status(point)?;
        let target = || linux::target_status(point).map(|target| target.kind);
        let (more, tag) = match status.kind {
            Kind::Link if target() == Some(Kind::Folder) => (FILE_ATTRIBUTE_DIRECTORY, SYMLINK_TAG),
            Kind::Link => (0, SYMLINK_TAG),
            _ => (FILE_ATTRIBUTE_ARCHIVE, SOCKET_TAG),
        };
        Some(Self {
            attributes: FILE_ATTRIBUTE_REPARSE_POINT | more,
            tag,
            changed: file_time(status.changed),
            index: status.inode,
        })
    }
}

/// Windows counts steps of 100 ns since 1601.
fn file_time((seconds, nanoseconds): (i64, i64)) -> FILETIME {
    const SECONDS_1601_TO_1970: i64 = 11_644_473_600;
    let steps = (seconds + SECONDS_1601_TO_1970) * 10_000_000 + nanoseconds / 100;
    FILETIME {
        dwLowDateTime: steps as u32,
        dwHighDateTime: (steps >> 32) as u32,
    }
}
