//! The account and privileges of this process.
#![allow(unsafe_code, reason = "tokens of the Windows API")]

use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr;

use casement_resource::{Code, Failure};
use windows_sys::Win32::Foundation::{ERROR_SUCCESS, GetLastError};
use windows_sys::Win32::Security::{
    AdjustTokenPrivileges, CheckTokenMembership, CreateWellKnownSid, GetTokenInformation,
    LookupPrivilegeValueW, SE_PRIVILEGE_ENABLED, TOKEN_ACCESS_MASK, TOKEN_ADJUST_PRIVILEGES,
    TOKEN_PRIVILEGES, TOKEN_QUERY, TOKEN_USER, TokenUser, WinBuiltinAdministratorsSid,
};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};
use windows_sys::core::PCWSTR;

use crate::windows::failure;
use crate::windows::services::agent;

fn process_token(access: TOKEN_ACCESS_MASK) -> Result<OwnedHandle, Failure> {
    let mut token = ptr::null_mut();
    // SAFETY: the current process and a writable pointer.
    if unsafe { OpenProcessToken(GetCurrentProcess(), access, &mut token) } == 0 {
        return Err(failure::last_error("open the process token"));
    }
    // SAFETY: just opened, and closed only by this owner.
    Ok(unsafe { OwnedHandle::from_raw_handle(token) })
}

/// The account must have the privilege.
pub fn enable_privilege(name: PCWSTR) -> Result<(), Failure> {
    let token = process_token(TOKEN_ADJUST_PRIVILEGES | TOKEN_QUERY)?;
    let mut privileges = TOKEN_PRIVILEGES {
        PrivilegeCount: 1,
        ..Default::default()
    };
    privileges.Privileges[0].Attributes = SE_PRIVILEGE_ENABLED;
    let none = ptr::null_mut();
    // SAFETY: NUL-terminated text, a writable pointer, and one privilege as counted.
    unsafe {
        if LookupPrivilegeValueW(ptr::null(), name, &mut privileges.Privileges[0].Luid) == 0
            || AdjustTokenPrivileges(
                token.as_raw_handle(),
                0,
                &privileges,
                0,
                none,
                ptr::null_mut(),
            ) == 0
        {
            return Err(failure::last_error("enable a privilege"));
        }
        // Also succeeds if the account lacks the privilege.
        match GetLastError() {
            ERROR_SUCCESS => Ok(()),
            code => Err(failure::from_code("enable a privilege", code)),
        }
    }
}

/// Requires an elevated administrator and an executable that only administrators
/// could have created.
pub fn check_privileges() -> Result<(), Failure> {
    if !is_administrator()? {
        return Err(Failure::new(
            Code::NotElevated,
            "casement-node has no administrator privileges",
            "log in as a member of the group Administrators; on the host itself, use \
             \u{201c}Run as administrator\u{201d}",
        )
        .values("an elevated administrator", login_sid()?));
    }
    super::check_program(&agent()?)
}

/// In a token filtered by User Account Control, the group is used for deny entries
/// only.
fn is_administrator() -> Result<bool, Failure> {
    // The longest SID has 68 bytes.
    let mut sid = [0_u64; 9];
    let mut size = 68;
    let mut member = 0;
    let buffer = sid.as_mut_ptr().cast();
    // SAFETY: a buffer of at least the given size, aligned for a SID; no domain;
    // null means the current token.
    unsafe {
        if CreateWellKnownSid(
            WinBuiltinAdministratorsSid,
            ptr::null_mut(),
            buffer,
            &mut size,
        ) == 0
            || CheckTokenMembership(ptr::null_mut(), buffer, &mut member) == 0
        {
            return Err(failure::last_error("read the groups of the process token"));
        }
    }
    Ok(member != 0)
}

/// The SID of the account that this process runs as.
pub fn login_sid() -> Result<String, Failure> {
    let token = process_token(TOKEN_QUERY)?;
    let mut size = 0;
    // SAFETY: requests the size only.
    unsafe {
        GetTokenInformation(
            token.as_raw_handle(),
            TokenUser,
            ptr::null_mut(),
            0,
            &mut size,
        )
    };
    // Pointers, because the result starts with one and needs their alignment.
    let mut result = vec![ptr::null_mut::<u8>(); (size as usize).div_ceil(size_of::<usize>())];
    // SAFETY: a buffer of at least the requested size.
    let read = unsafe {
        GetTokenInformation(
            token.as_raw_handle(),
            TokenUser,
            result.as_mut_ptr().cast(),
            size,
            &mut size,
        )
    };
    if read == 0 || (size as usize) < size_of::<TOKEN_USER>() {
        return Err(failure::last_error("read the user of the process token"));
    }
    // SAFETY: the result starts with this struct, and its SID is in the buffer.
    unsafe { super::sid_text((*result.as_ptr().cast::<TOKEN_USER>()).User.Sid) }
}
