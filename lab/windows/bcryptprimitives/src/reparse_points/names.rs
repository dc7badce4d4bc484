//! Functions that take the path of a symbolic link or socket file.

use core::ffi::c_void;

use windows_sys::Win32::Foundation::{ERROR_PATH_NOT_FOUND, FALSE, SetLastError, TRUE};
use windows_sys::Win32::Storage::FileSystem as fs;
use windows_sys::core::{BOOL, PCWSTR};

use super::{ReparsePoint, reparse_point_at};
use crate::linux::{self, Errno};
use crate::{paths, wide};

/// `CreateSymbolicLinkW`: creates a Unix link. In relative targets only the
/// separators change, absolute ones become Unix paths into the prefix. A Unix
/// link does not record whether its target is a directory, so flags are ignored.
pub unsafe extern "system" fn create(link: PCWSTR, target: PCWSTR, _flags: u32) -> bool {
    // SAFETY: both are NUL-terminated, as for the real function.
    let (link, target) = unsafe { (wide::units(link), wide::units(target)) };
    let unix_target = if paths::is_relative(target) {
        linux::path(wide::text(target).replace('\\', "/").into_bytes())
    } else {
        paths::to_unix(target)
    };
    let (Some(target), Some(link)) = (unix_target, paths::to_unix(link)) else {
        // SAFETY: sets a thread-local value.
        unsafe { SetLastError(ERROR_PATH_NOT_FOUND) };
        return false;
    };
    to_bool(linux::symlink(&target, &link)) == TRUE
}

/// `GetFileAttributesW`: for the link, not its target.
pub unsafe extern "system" fn attributes(path: PCWSTR) -> u32 {
    // SAFETY: the caller's path.
    match unsafe { reparse_point(path) } {
        Some(link) => link.attributes,
        // SAFETY: the caller's argument.
        None => unsafe { fs::GetFileAttributesW(path) },
    }
}

/// `GetFileAttributesExW`: for the link; `os.Lstat` calls it first.
pub unsafe extern "system" fn attributes_ex(
    path: PCWSTR,
    level: fs::GET_FILEEX_INFO_LEVELS,
    into: *mut c_void,
) -> BOOL {
    // SAFETY: the caller's path.
    let link = (level == fs::GetFileExInfoStandard).then(|| unsafe { reparse_point(path) });
    let Some(link) = link.flatten() else {
        // SAFETY: the caller's arguments.
        return unsafe { fs::GetFileAttributesExW(path, level, into) };
    };
    let data = fs::WIN32_FILE_ATTRIBUTE_DATA {
        dwFileAttributes: link.attributes,
        ftCreationTime: link.modified,
        ftLastAccessTime: link.modified,
        ftLastWriteTime: link.modified,
        nFileSizeHigh: 0,
        nFileSizeLow: 0,
    };
    // SAFETY: this level requires a buffer for this structure.
    unsafe { into.cast::<fs::WIN32_FILE_ATTRIBUTE_DATA>().write(data) };
    TRUE
}

/// `DeleteFileW`: Wine would delete the target of the link.
pub unsafe extern "system" fn delete_file(path: PCWSTR) -> BOOL {
    // SAFETY: the caller's path.
    match reparse_point_at(unsafe { wide::units(path) }) {
        Some(link) => to_bool(linux::remove(&link)),
        // SAFETY: the caller's argument.
        None => unsafe { fs::DeleteFileW(path) },
    }
}

/// `RemoveDirectoryW`: removes a link to a directory, as on Windows.
pub unsafe extern "system" fn remove_directory(path: PCWSTR) -> BOOL {
    // SAFETY: the caller's path.
    match reparse_point_at(unsafe { wide::units(path) }) {
        Some(link) => to_bool(linux::remove(&link)),
        // SAFETY: the caller's argument.
        None => unsafe { fs::RemoveDirectoryW(path) },
    }
}

/// `MoveFileExW`: moves or replaces the link itself, not its target.
pub unsafe extern "system" fn move_file(from: PCWSTR, to: PCWSTR, flags: u32) -> BOOL {
    // SAFETY: the caller's paths; `to` may be null.
    let (old, new) = unsafe { (wide::units(from), wide::units(to)) };
    let replaced = reparse_point_at(new);
    let involves_link = reparse_point_at(old).is_some() || replaced.is_some();
    let allowed = flags & fs::MOVEFILE_REPLACE_EXISTING != 0 || replaced.is_none();
    match (paths::to_unix(old), paths::to_unix(new)) {
        (Some(old), Some(new)) if involves_link && allowed => to_bool(linux::rename(&old, &new)),
        // SAFETY: the caller's arguments.
        _ => unsafe { fs::MoveFileExW(from, to, flags) },
    }
}

unsafe fn reparse_point(path: PCWSTR) -> Option<ReparsePoint> {
    // SAFETY: the caller's path.
    let link = reparse_point_at(unsafe { wide::units(path) })?;
    ReparsePoint::of(&link)
}

/// Converts a result into a Windows return value.
pub fn to_bool(result: Result<(), Errno>) -> BOOL {
    match result {
        Ok(()) => TRUE,
        Err(errno) => {
            // SAFETY: sets a thread-local value.
            unsafe { SetLastError(errno.win32()) };
            FALSE
        }
    }
}
