//! The target of a link, in the form that `os.Readlink` reads.

use alloc::vec::Vec;
use core::ffi::{CStr, c_void};

use windows_sys::Win32::Foundation::{
    ERROR_INSUFFICIENT_BUFFER, ERROR_NOT_A_REPARSE_POINT, FALSE, HANDLE, SetLastError, TRUE,
};
use windows_sys::Win32::System::IO::{DeviceIoControl, OVERLAPPED};
use windows_sys::core::BOOL;

use super::{SOCKET_TAG, SYMLINK_TAG, handles};
use crate::{linux, paths};

const FSCTL_GET_REPARSE_POINT: u32 = 0x0009_00A8;
const SYMLINK_FLAG_RELATIVE: u32 = 1;

/// `DeviceIoControl`: implements FSCTL_GET_REPARSE_POINT.
pub unsafe extern "system" fn device_io_control(
    handle: HANDLE,
    code: u32,
    input: *const c_void,
    input_length: u32,
    output: *mut c_void,
    output_length: u32,
    returned: *mut u32,
    overlapped: *mut OVERLAPPED,
) -> BOOL {
    if code != FSCTL_GET_REPARSE_POINT {
        // SAFETY: the caller's arguments.
        return unsafe {
            DeviceIoControl(
                handle,
                code,
                input,
                input_length,
                output,
                output_length,
                returned,
                overlapped,
            )
        };
    }
    let data = handles::path_of(handle).and_then(|link| data_buffer(&link));
    let error = match data {
        None => ERROR_NOT_A_REPARSE_POINT,
        Some(data) if data.len() > output_length as usize => ERROR_INSUFFICIENT_BUFFER,
        Some(data) => {
            // SAFETY: the output is large enough, and `returned` is required.
            unsafe {
                output
                    .cast::<u8>()
                    .copy_from_nonoverlapping(data.as_ptr(), data.len());
                returned.write(data.len() as u32);
            }
            return TRUE;
        }
    };
    // SAFETY: sets a thread-local value.
    unsafe { SetLastError(error) };
    FALSE
}

/// A REPARSE_DATA_BUFFER with a SymbolicLinkReparseBuffer, or an empty one for a
/// socket.
fn data_buffer(point: &CStr) -> Option<Vec<u8>> {
    let Some(link) = linux::read_link(point) else {
        return Some([SOCKET_TAG.to_le_bytes(), [0; 4]].concat());
    };
    let (substitute, print, flags) = target(link)?;
    let (substitute, print) = (bytes(&substitute), bytes(&print));
    let lengths = [
        0,
        substitute.len() as u16,
        substitute.len() as u16,
        print.len() as u16,
    ];
    let mut body: Vec<u8> = lengths
        .iter()
        .flat_map(|length| length.to_le_bytes())
        .collect();
    body.extend(flags.to_le_bytes());
    body.extend(substitute);
    body.extend(print);
    let mut buffer = SYMLINK_TAG.to_le_bytes().to_vec();
    buffer.extend((body.len() as u16).to_le_bytes());
    buffer.extend([0, 0]);
    buffer.extend(body);
    Some(buffer)
}

/// The substitute name, the print name, and the flags.
fn target(unix: Vec<u8>) -> Option<(Vec<u16>, Vec<u16>, u32)> {
    if unix.first() == Some(&b'/') {
        let target = paths::to_windows(&linux::path(unix)?)?;
        let substitute = r"\??\"
            .encode_utf16()
            .chain(target.iter().copied())
            .collect();
        return Some((substitute, target, 0));
    }
    let text = alloc::string::String::from_utf8_lossy(&unix).replace('/', "\\");
    let target: Vec<u16> = text.encode_utf16().collect();
    Some((target.clone(), target, SYMLINK_FLAG_RELATIVE))
}

fn bytes(text: &[u16]) -> Vec<u8> {
    text.iter().flat_map(|unit| unit.to_le_bytes()).collect()
}
