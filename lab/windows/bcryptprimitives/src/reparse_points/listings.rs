//! `GetFileInformationByHandleEx`: what Go reads folders with.

use alloc::vec::Vec;
use core::ffi::c_void;
use core::mem::offset_of;

use windows_sys::Win32::Foundation::{HANDLE, TRUE};
use windows_sys::Win32::Storage::FileSystem as fs;
use windows_sys::core::BOOL;

use super::{Appearance, handles, point_at};
use crate::paths;

/// Where an entry of a listing keeps what differs for links.
struct Layout {
    attributes: usize,
    size: usize,
    name_length: usize,
    /// Windows puts the tag of a reparse point here.
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

/// `GetFileInformationByHandleEx`: says of a link's handle that it is one, and
/// marks links and sockets in a listing.
pub unsafe extern "system" fn information_ex(
    handle: HANDLE,
    class: fs::FILE_INFO_BY_HANDLE_CLASS,
    into: *mut c_void,
    length: u32,
) -> BOOL {
    if class == fs::FileAttributeTagInfo
        && let Some(link) = handles::link_of(handle).and_then(|link| Appearance::of(&link))
    {
        let info = fs::FILE_ATTRIBUTE_TAG_INFO {
            FileAttributes: link.attributes,
            ReparseTag: link.tag,
        };
        // SAFETY: this class promises a buffer for this structure.
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
    if let (TRUE, Some(folder)) = (result, paths::of_handle(handle)) {
        // SAFETY: the call has filled the buffer with entries of this layout.
        unsafe { mark_points(&folder, into.cast(), &layout) };
    }
    result
}

unsafe fn mark_points(folder: &[u16], mut entry: *mut u8, layout: &Layout) {
    // SAFETY: entries are chained by the offset that each begins with, and end
    // with a zero.
    unsafe {
        loop {
            let units = entry.add(layout.name_length).cast::<u32>().read_unaligned() / 2;
            let start = entry.add(layout.name).cast::<u16>();
            let name: Vec<u16> = (0..units as usize)
                .map(|unit| start.add(unit).read_unaligned())
                .collect();
            let point = point_at(&paths::join(folder.to_vec(), &name));
            if let Some(point) = point.and_then(|point| Appearance::of(&point)) {
                let put = |place, value: u32| {
                    entry.add(place).cast::<u32>().write_unaligned(value);
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
