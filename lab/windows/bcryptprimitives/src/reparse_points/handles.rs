//! Handles to links themselves.
//!
//! Wine cannot open a link without following it. A handle to the folder that
//! it lies in takes its place (a disk file to whoever asks for its type), and
//! [`OPEN`] remembers which link is meant.

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

use super::{Appearance, point_at};
use crate::locked::Locked;
use crate::{linux, paths, wide};

/// `STATUS_REPARSE_POINT_ENCOUNTERED`.
const REPARSE_POINT_ENCOUNTERED: NTSTATUS = 0xC000_050B_u32.cast_signed();
/// `OBJ_DONT_REPARSE`: fail rather than follow a link.
const DONT_REPARSE: u32 = 0x1000;

/// The links that are open, by handle.
static OPEN: Locked<BTreeMap<usize, CString>> = Locked::new(BTreeMap::new());

/// The link that a handle stands for.
pub fn link_of(handle: HANDLE) -> Option<CString> {
    OPEN.with(|open| open.get(&(handle as usize)).cloned())
}

/// `CreateFileW`: with FILE_FLAG_OPEN_REPARSE_POINT, the link itself.
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
        if let Some(link) = point_at(name) {
            return open(name, link);
        }
    }
    // SAFETY: the caller's arguments.
    unsafe { fs::CreateFileW(path, access, share, security, disposition, flags, template) }
}

/// `NtCreateFile`: the link itself where that is asked for, and no way through
/// it where that is forbidden.
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
        let itself = options & nt::FILE_OPEN_REPARSE_POINT != 0;
        let strict = object.as_ref()?.Attributes & DONT_REPARSE != 0;
        if !itself && !strict {
            return None;
        }
        let path = paths::of_object(object)?;
        let link = point_at(&path)?;
        Some(match (disposition, itself) {
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

/// `NtSetInformationFile`: removes a link, which is what Go opens one for.
///
/// For other handles there is only the wording: of classes that Wine does not
/// have it says "not implemented", Windows "invalid information class". After
/// the latter alone does Go's RemoveAll try the older way of removing a file.
pub unsafe extern "system" fn nt_set_information(
    handle: HANDLE,
    status: *mut IO_STATUS_BLOCK,
    information: *const c_void,
    length: u32,
    class: nt::FILE_INFORMATION_CLASS,
) -> NTSTATUS {
    let Some(link) = link_of(handle) else {
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

/// `SetFileInformationByHandle`: removes a link, which is what Rust opens one
/// for; its other attributes are nothing that a Unix link has.
pub unsafe extern "system" fn set_information(
    handle: HANDLE,
    class: fs::FILE_INFO_BY_HANDLE_CLASS,
    information: *const c_void,
    length: u32,
) -> BOOL {
    let Some(link) = link_of(handle) else {
        // SAFETY: the caller's arguments.
        return unsafe { fs::SetFileInformationByHandle(handle, class, information, length) };
    };
    match class {
        fs::FileDispositionInfo | fs::FileDispositionInfoEx => match linux::remove(&link) {
            Ok(()) => TRUE,
            Err(_) => {
                // SAFETY: no arguments to get wrong.
                unsafe { SetLastError(ERROR_FILE_NOT_FOUND) };
                FALSE
            }
        },
        _ => TRUE,
    }
}

/// `GetFileInformationByHandle`: of the link.
pub unsafe extern "system" fn information(
    handle: HANDLE,
    into: *mut fs::BY_HANDLE_FILE_INFORMATION,
) -> BOOL {
    // SAFETY: the caller's arguments; for a link the folder's values come
    // first, of which the volume remains.
    unsafe {
        let result = fs::GetFileInformationByHandle(handle, into);
        let link = link_of(handle).and_then(|link| Appearance::of(&link));
        if let (TRUE, Some(link)) = (result, link) {
            let into = &mut *into;
            into.dwFileAttributes = link.attributes;
            into.ftCreationTime = link.changed;
            into.ftLastAccessTime = link.changed;
            into.ftLastWriteTime = link.changed;
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
    const HERE: &[u16] = &[b'.' as u16];
    let folder = match paths::folder(path) {
        [] => HERE,
        folder => folder,
    };
    let folder: Vec<u16> = folder.iter().copied().chain([0]).collect();
    // SAFETY: the path is NUL-terminated.
    let handle = unsafe {
        fs::CreateFileW(
            folder.as_ptr(),
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
