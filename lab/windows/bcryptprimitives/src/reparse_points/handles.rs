//! Handles to links themselves.
//!
//! Wine cannot open a link without following it. A handle to its directory is
//! used instead (its file type is a disk file), and [`OPEN`] maps it to the link.

use alloc::collections::BTreeMap;
use alloc::ffi::CString;
use alloc::vec::Vec;
use core::ffi::c_void;
use core::ptr::{null, null_mut};

use windows_sys::Wdk::Foundation::OBJECT_ATTRIBUTES;
use windows_sys::Wdk::Storage::FileSystem as nt;
use windows_sys::Win32::Foundation::{
    CloseHandle, ERROR_FILE_NOT_FOUND, FALSE, HANDLE, INVALID_HANDLE_VALUE, NTSTATUS,
    STATUS_INVALID_INFO_CLASS, STATUS_NOT_IMPLEMENTED, STATUS_OBJECT_NAME_COLLISION,
    STATUS_OBJECT_NAME_NOT_FOUND, STATUS_SUCCESS, SetLastError, TRUE,
};
use windows_sys::Win32::Security::SECURITY_ATTRIBUTES;
use windows_sys::Win32::Storage::FileSystem as fs;
use windows_sys::Win32::System::IO::IO_STATUS_BLOCK;
use windows_sys::core::{BOOL, PCWSTR};

use super::{ReparsePoint, reparse_point_at};
use crate::locked::Locked;
use crate::{linux, paths, wide};

/// `STATUS_REPARSE_POINT_ENCOUNTERED`.
const REPARSE_POINT_ENCOUNTERED: NTSTATUS = 0xC000_050B_u32.cast_signed();
/// `OBJ_DONT_REPARSE`: fail rather than follow a link.
const DONT_REPARSE: u32 = 0x1000;

/// Open links, by handle.
static OPEN: Locked<BTreeMap<usize, CString>> = Locked::new(BTreeMap::new());

pub fn path_of(handle: HANDLE) -> Option<CString> {
    OPEN.with(|open| open.get(&(handle as usize)).cloned())
}

/// `CreateFileW`: opens the link itself with FILE_FLAG_OPEN_REPARSE_POINT.
pub unsafe extern "system" fn create_file(
    path: PCWSTR,
    access: u32,
    share: u32,
    security: *const SECURITY_ATTRIBUTES,
    disposition: u32,
    flags: u32,
    template: HANDLE,
) -> HANDLE {
    if flags & fs::FILE_FLAG_OPEN_REPARSE_POINT != 0 && disposition == fs::OPEN_EXISTING {
        // SAFETY: the caller's path.
        let name = unsafe { wide::units(path) };
        if let Some(link) = reparse_point_at(name) {
            return open(name, link);
        }
    }
    // SAFETY: the caller's arguments.
    unsafe { fs::CreateFileW(path, access, share, security, disposition, flags, template) }
}

/// `NtCreateFile`: opens the link itself if requested, and fails if following
/// links is forbidden.
pub unsafe extern "system" fn nt_create_file(
    handle: *mut HANDLE,
    access: u32,
    object: *const OBJECT_ATTRIBUTES,
    status: *mut IO_STATUS_BLOCK,
    size: *const i64,
    attributes: u32,
    share: u32,
    disposition: u32,
    options: u32,
    extended: *const c_void,
    extended_length: u32,
) -> NTSTATUS {
    // SAFETY: the caller's arguments.
    unsafe {
        if let Some(result) = nt_open_link(handle, object, disposition, options) {
            return result;
        }
        nt::NtCreateFile(
            handle,
            access,
            object,
            status,
            size,
            attributes,
            share,
            disposition,
            options,
            extended,
            extended_length,
        )
    }
}

/// `NtOpenFile`: as [`nt_create_file`].
pub unsafe extern "system" fn nt_open_file(
    handle: *mut HANDLE,
    access: u32,
    object: *const OBJECT_ATTRIBUTES,
    status: *mut IO_STATUS_BLOCK,
    share: u32,
    options: u32,
) -> NTSTATUS {
    // SAFETY: the caller's arguments.
    unsafe {
        if let Some(result) = nt_open_link(handle, object, nt::FILE_OPEN, options) {
            return result;
        }
        nt::NtOpenFile(handle, access, object, status, share, options)
    }
}

unsafe fn nt_open_link(
    handle: *mut HANDLE,
    object: *const OBJECT_ATTRIBUTES,
    disposition: u32,
    options: u32,
) -> Option<NTSTATUS> {
    // SAFETY: the caller's arguments.
    unsafe {
        let no_follow = options & nt::FILE_OPEN_REPARSE_POINT != 0;
        let strict = object.as_ref()?.Attributes & DONT_REPARSE != 0;
        if !no_follow && !strict {
            return None;
        }
        let path = paths::of_object(object)?;
        let link = reparse_point_at(&path)?;
        Some(match (disposition, no_follow) {
            (nt::FILE_CREATE, _) => STATUS_OBJECT_NAME_COLLISION,
            (_, false) => REPARSE_POINT_ENCOUNTERED,
            (_, true) => {
                *handle = open(&path, link);
                match *handle {
                    INVALID_HANDLE_VALUE => STATUS_OBJECT_NAME_NOT_FOUND,
                    _ => STATUS_SUCCESS,
                }
            }
        })
    }
}

/// `NtSetInformationFile`: removes a link, which is why Go opens one.
///
/// For other handles it only translates an error: for unsupported classes Wine
/// returns "not implemented", Windows "invalid information class". Go's RemoveAll
/// falls back to the older way of removing a file only after the latter.
pub unsafe extern "system" fn nt_set_information(
    handle: HANDLE,
    status: *mut IO_STATUS_BLOCK,
    information: *const c_void,
    length: u32,
    class: nt::FILE_INFORMATION_CLASS,
) -> NTSTATUS {
    let Some(link) = path_of(handle) else {
        // SAFETY: the caller's arguments.
        return match unsafe { nt::NtSetInformationFile(handle, status, information, length, class) }
        {
            STATUS_NOT_IMPLEMENTED => STATUS_INVALID_INFO_CLASS,
            result => result,
        };
    };
    match class {
        nt::FileDispositionInformation | nt::FileDispositionInformationEx => {
            match linux::remove(&link) {
                Ok(()) => STATUS_SUCCESS,
                Err(_) => STATUS_OBJECT_NAME_NOT_FOUND,
            }
        }
        _ => STATUS_INVALID_INFO_CLASS,
    }
}

/// `SetFileInformationByHandle`: removes a link, which is why Rust opens one;
/// other attributes do not apply to a Unix link and are ignored.
pub unsafe extern "system" fn set_information(
    handle: HANDLE,
    class: fs::FILE_INFO_BY_HANDLE_CLASS,
    information: *const c_void,
    length: u32,
) -> BOOL {
    let Some(link) = path_of(handle) else {
        // SAFETY: the caller's arguments.
        return unsafe { fs::SetFileInformationByHandle(handle, class, information, length) };
    };
    match class {
        fs::FileDispositionInfo | fs::FileDispositionInfoEx => match linux::remove(&link) {
            Ok(()) => TRUE,
            Err(_) => {
                // SAFETY: sets a thread-local value.
                unsafe { SetLastError(ERROR_FILE_NOT_FOUND) };
                FALSE
            }
        },
        _ => TRUE,
    }
}

/// `GetFileInformationByHandle`: for the link.
pub unsafe extern "system" fn information(
    handle: HANDLE,
    into: *mut fs::BY_HANDLE_FILE_INFORMATION,
) -> BOOL {
    // SAFETY: the caller's arguments; for a link, the values of its directory are
    // overwritten except for the volume.
    unsafe {
        let result = fs::GetFileInformationByHandle(handle, into);
        let link = path_of(handle).and_then(|link| ReparsePoint::of(&link));
        if let (TRUE, Some(link)) = (result, link) {
            let into = &mut *into;
            into.dwFileAttributes = link.attributes;
            into.ftCreationTime = link.modified;
            into.ftLastAccessTime = link.modified;
            into.ftLastWriteTime = link.modified;
            into.nFileSizeHigh = 0;
            into.nFileSizeLow = 0;
            into.nNumberOfLinks = 1;
            into.nFileIndexHigh = (link.index >> 32) as u32;
            into.nFileIndexLow = link.index as u32;
        }
        result
    }
}

/// `CloseHandle`.
pub unsafe extern "system" fn close(handle: HANDLE) -> BOOL {
    OPEN.with(|open| open.remove(&(handle as usize)));
    // SAFETY: the caller's handle.
    unsafe { CloseHandle(handle) }
}

fn open(path: &[u16], link: CString) -> HANDLE {
    const CURRENT: &[u16] = &[b'.' as u16];
    let directory = match paths::parent(path) {
        [] => CURRENT,
        directory => directory,
    };
    let directory: Vec<u16> = directory.iter().copied().chain([0]).collect();
    // SAFETY: the path is NUL-terminated.
    let handle = unsafe {
        fs::CreateFileW(
            directory.as_ptr(),
            0,
            fs::FILE_SHARE_READ | fs::FILE_SHARE_WRITE | fs::FILE_SHARE_DELETE,
            null(),
            fs::OPEN_EXISTING,
            fs::FILE_FLAG_BACKUP_SEMANTICS,
            null_mut(),
        )
    };
    if handle != INVALID_HANDLE_VALUE {
        OPEN.with(|open| open.insert(handle as usize, link));
    }
    handle
}
