//! Functions that take the path of a link or a socket's file.

use core::ffi::c_void;

use windows_sys::Win32::Foundation::{ERROR_PATH_NOT_FOUND, FALSE, SetLastError, TRUE};
use windows_sys::Win32::Storage::FileSystem as fs;
use windows_sys::core::{BOOL, PCWSTR};

use super::{Appearance, point_at};
use crate::linux::{self, Errno};
use crate::{paths, wide};

/// `CreateSymbolicLinkW`: a Unix link. Relative targets stay as they are but
/// for their separators, absolute ones become Unix paths into the prefix.
/// Unix links do not say whether they lead to a folder, so the flags are moot.
pub unsafe extern "system" fn create(link: PCWSTR, target: PCWSTR, _flags: u32) -> bool {
    // SAFETY: both are NUL-terminated, as for the real function.
    let (link, target) = unsafe { (wide::units(link), wide::units(target)) };
    let unix_target = if paths::is_relative(target) {
        linux::path(wide::text(target).replace('\\', "/").into_bytes())
    } else {
        paths::unix(target)
    };
    let (Some(target), Some(link)) = (unix_target, paths::unix(link)) else {
        // SAFETY: sets a thread's value.
        unsafe { SetLastError(ERROR_PATH_NOT_FOUND) };
        return false;
    };
    done(linux::make_link(&target, &link)) == TRUE
}

/// `GetFileAttributesW`: of the link, not of what it leads to.
pub unsafe extern "system" fn attributes(path: PCWSTR) -> u32 {
    // SAFETY: the caller's path.
    match unsafe { appearance(path) } {
        Some(link) => link.attributes,
        // SAFETY: the caller's argument.
        None => unsafe { fs::GetFileAttributesW(path) },
    }
}

/// `GetFileAttributesExW`: of the link; this is where `os.Lstat` begins.
pub unsafe extern "system" fn attributes_ex(
    path: PCWSTR,
    level: fs::GET_FILEEX_INFO_LEVELS,
    into: *mut c_void,
) -> BOOL {
    // SAFETY: the caller's path.
    let link = (level == fs::GetFileExInfoStandard).then(|| unsafe { appearance(path) });
    let Some(link) = link.flatten() else {
        // SAFETY: the caller's arguments.
        return unsafe { fs::GetFileAttributesExW(path, level, into) };
    };
    let data = fs::WIN32_FILE_ATTRIBUTE_DATA {
        dwFileAttributes: link.attributes,
        ftCreationTime: link.changed,
        ftLastAccessTime: link.changed,
        ftLastWriteTime: link.changed,
        nFileSizeHigh: 0,
        nFileSizeLow: 0,
    };
    // SAFETY: this level promises a buffer for this structure.
    unsafe { into.cast::<fs::WIN32_FILE_ATTRIBUTE_DATA>().write(data) };
    TRUE
}

/// `DeleteFileW`: Wine would delete what the link leads to.
pub unsafe extern "system" fn delete_file(path: PCWSTR) -> BOOL {
    // SAFETY: the caller's path.
    match point_at(unsafe { wide::units(path) }) {
        Some(link) => done(linux::remove(&link)),
        // SAFETY: the caller's argument.
        None => unsafe { fs::DeleteFileW(path) },
    }
}

/// `RemoveDirectoryW`: a link to a folder is removed like this on Windows.
pub unsafe extern "system" fn remove_directory(path: PCWSTR) -> BOOL {
    // SAFETY: the caller's path.
    match point_at(unsafe { wide::units(path) }) {
        Some(link) => done(linux::remove(&link)),
        // SAFETY: the caller's argument.
        None => unsafe { fs::RemoveDirectoryW(path) },
    }
}

/// `MoveFileExW`: where a link is moved or replaced, the link itself is meant.
pub unsafe extern "system" fn move_file(from: PCWSTR, to: PCWSTR, flags: u32) -> BOOL {
    // SAFETY: the caller's paths; `to` may be null.
    let (old, new) = unsafe { (wide::units(from), wide::units(to)) };
    let replaced = point_at(new);
    let links = point_at(old).is_some() || replaced.is_some();
    let allowed = flags & fs::MOVEFILE_REPLACE_EXISTING != 0 || replaced.is_none();
    match (paths::unix(old), paths::unix(new)) {
        (Some(old), Some(new)) if links && allowed => done(linux::rename(&old, &new)),
        // SAFETY: the caller's arguments.
        _ => unsafe { fs::MoveFileExW(from, to, flags) },
    }
}

unsafe fn appearance(path: PCWSTR) -> Option<Appearance> {
    // SAFETY: the caller's path.
    let link = point_at(unsafe { wide::units(path) })?;
    Appearance::of(&link)
}

/// A result as Windows gives it.
pub fn done(result: Result<(), Errno>) -> BOOL {
    match result {
        Ok(()) => TRUE,
        Err(errno) => {
            // SAFETY: sets a thread's value.
            unsafe { SetLastError(errno.win32()) };
            FALSE
        }
    }
}
