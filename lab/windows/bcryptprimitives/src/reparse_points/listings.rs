//! `GetFileInformationByHandleEx`, which Go uses to list directories.

use alloc::vec::Vec;
use core::ffi::c_void;
use core::mem::offset_of;

use windows_sys::Win32::Foundation::{HANDLE, TRUE};
use windows_sys::Win32::Storage::FileSystem as fs;
use windows_sys::core::BOOL;

use super::{ReparsePoint, handles, reparse_point_at};
use crate::paths;

/// Offsets of the fields of a directory entry that differ for reparse points.
struct Layout {
    attributes: usize,
    size: usize,
    name_length: usize,
    /// Holds the reparse tag, as on Windows.
    tag: usize,
    name: usize,
}

const FULL: Layout = Layout {
    attributes: offset_of!(fs::FILE_FULL_DIR_INFO, FileAttributes),
    size: offset_of!(fs::FILE_FULL_DIR_INFO, EndOfFile),
    name_length: offset_of!(fs::FILE_FULL_DIR_INFO, FileNameLength),
    tag: offset_of!(fs::FILE_FULL_DIR_INFO, EaSize),
    name: offset_of!(fs::FILE_FULL_DIR_INFO, FileName),
};

const ID_BOTH: Layout = Layout {
    attributes: offset_of!(fs::FILE_ID_BOTH_DIR_INFO, FileAttributes),
    size: offset_of!(fs::FILE_ID_BOTH_DIR_INFO, EndOfFile),
    name_length: offset_of!(fs::FILE_ID_BOTH_DIR_INFO, FileNameLength),
    tag: offset_of!(fs::FILE_ID_BOTH_DIR_INFO, EaSize),
    name: offset_of!(fs::FILE_ID_BOTH_DIR_INFO, FileName),
};

/// Reports the handle of a link as a reparse point, and marks links and sockets
/// in a listing.
pub unsafe extern "system" fn information_ex(
    handle: HANDLE,
    class: fs::FILE_INFO_BY_HANDLE_CLASS,
    into: *mut c_void,
    length: u32,
) -> BOOL {
    if class == fs::FileAttributeTagInfo
        && let Some(link) = handles::path_of(handle).and_then(|link| ReparsePoint::of(&link))
    {
        let info = fs::FILE_ATTRIBUTE_TAG_INFO {
            FileAttributes: link.attributes,
            ReparseTag: link.tag,
        };
        // SAFETY: this class requires a buffer for this structure.
        unsafe { into.cast::<fs::FILE_ATTRIBUTE_TAG_INFO>().write(info) };
        return TRUE;
    }
    // SAFETY: the caller's arguments.
    let result = unsafe { fs::GetFileInformationByHandleEx(handle, class, into, length) };
    let layout = match class {
        fs::FileFullDirectoryInfo | fs::FileFullDirectoryRestartInfo => FULL,
        fs::FileIdBothDirectoryInfo | fs::FileIdBothDirectoryRestartInfo => ID_BOTH,
        _ => return result,
    };
    if let (TRUE, Some(directory)) = (result, paths::of_handle(handle)) {
        // SAFETY: the call has filled the buffer with entries of this layout.
        unsafe { mark_reparse_points(&directory, into.cast(), &layout) };
    }
    result
}

unsafe fn mark_reparse_points(directory: &[u16], mut entry: *mut u8, layout: &Layout) {
    // SAFETY: each entry begins with the offset of the next; zero ends the list.
    unsafe {
        loop {
            let units = entry.add(layout.name_length).cast::<u32>().read_unaligned() / 2;
            let start = entry.add(layout.name).cast::<u16>();
            let name: Vec<u16> = (0..units as usize)
                .map(|unit| start.add(unit).read_unaligned())
                .collect();
            let point = reparse_point_at(&paths::join(directory.to_vec(), &name));
            if let Some(point) = point.and_then(|point| ReparsePoint::of(&point)) {
                let put = |offset, value: u32| {
                    entry.add(offset).cast::<u32>().write_unaligned(value);
                };
                put(layout.attributes, point.attributes);
                put(layout.tag, point.tag);
                entry.add(layout.size).cast::<i64>().write_unaligned(0);
            }
            match entry.cast::<u32>().read_unaligned() {
                0 => return,
                offset => entry = entry.add(offset as usize),
            }
        }
    }
}
