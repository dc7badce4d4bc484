//! Who this process is.
#![allow(unsafe_code, reason = "tokens of the Windows API")]

use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr;

use casement_resource::Failure;
use windows_sys::Win32::Security::{GetTokenInformation, TOKEN_QUERY, TOKEN_USER, TokenUser};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

use crate::windows::failure;

/// The SID of the account that this process runs as.
pub fn login_sid() -> Result<String, Failure> {
    let mut token = ptr::null_mut();
    // SAFETY: the own process and a place.
    if unsafe { OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &mut token) } == 0 {
        return Err(failure::last("open the own token"));
    }
    // SAFETY: just opened, and closed only by this owner.
    let token = unsafe { OwnedHandle::from_raw_handle(token) };
    let mut size = 0;
    // SAFETY: asks for the size only.
    unsafe {
        GetTokenInformation(
            token.as_raw_handle(),
            TokenUser,
            ptr::null_mut(),
            0,
            &mut size,
        )
    };
    // Of pointers, since the answer begins with one and needs their alignment.
    let mut answer = vec![ptr::null_mut::<u8>(); (size as usize).div_ceil(size_of::<usize>())];
    // SAFETY: a buffer of at least the size that was asked for.
    let read = unsafe {
        GetTokenInformation(
            token.as_raw_handle(),
            TokenUser,
            answer.as_mut_ptr().cast(),
            size,
            &mut size,
        )
    };
    if read == 0 || (size as usize) < size_of::<TOKEN_USER>() {
        return Err(failure::last("read the own token"));
    }
    // SAFETY: the answer begins with this, and its SID lies in the buffer.
    unsafe { super::sid_text((*answer.as_ptr().cast::<TOKEN_USER>()).User.Sid) }
}
