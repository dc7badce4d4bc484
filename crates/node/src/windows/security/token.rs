//! Who this process is.
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

/// The token of this process.
fn own(access: TOKEN_ACCESS_MASK) -> Result<OwnedHandle, Failure> {
    let mut token = ptr::null_mut();
    // SAFETY: the own process and a place.
    if unsafe { OpenProcessToken(GetCurrentProcess(), access, &mut token) } == 0 {
        return Err(failure::last("open the own token"));
    }
    // SAFETY: just opened, and closed only by this owner.
    Ok(unsafe { OwnedHandle::from_raw_handle(token) })
}

/// Makes use of a right that the account has.
pub fn enable_privilege(name: PCWSTR) -> Result<(), Failure> {
    let token = own(TOKEN_ADJUST_PRIVILEGES | TOKEN_QUERY)?;
    let mut wanted = TOKEN_PRIVILEGES {
        PrivilegeCount: 1,
        ..Default::default()
    };
    wanted.Privileges[0].Attributes = SE_PRIVILEGE_ENABLED;
    let none = ptr::null_mut();
    // SAFETY: terminated text, a place, and one privilege as is said.
    unsafe {
        if LookupPrivilegeValueW(ptr::null(), name, &mut wanted.Privileges[0].Luid) == 0
            || AdjustTokenPrivileges(token.as_raw_handle(), 0, &wanted, 0, none, ptr::null_mut())
                == 0
        {
            return Err(failure::last("make use of a privilege"));
        }
        // It succeeds also where the account lacks the privilege.
        match GetLastError() {
            ERROR_SUCCESS => Ok(()),
            code => Err(failure::refused("make use of a privilege", code)),
        }
    }
}

/// An administrator, not held back by User Account Control, running a program
/// that only administrators could have put there.
pub fn check_standing() -> Result<(), Failure> {
    if !is_administrator()? {
        return Err(Failure::new(
            Code::NotElevated,
            "casement-node runs as somebody who may not change this host",
            "log in as a member of the group Administrators; at the host itself, run it \
             \u{201c}as administrator\u{201d}",
        )
        .values("an administrator, elevated", login_sid()?));
    }
    super::check_program(&agent()?)
}

/// Whether the group Administrators counts in this process: a token that User
/// Account Control has filtered has it for denials only.
fn is_administrator() -> Result<bool, Failure> {
    // The longest SID has 68 bytes.
    let mut sid = [0_u64; 9];
    let mut size = 68;
    let mut member = 0;
    let place = sid.as_mut_ptr().cast();
    // SAFETY: a place of at least the size given, aligned for a SID; no domain;
    // the own token.
    unsafe {
        if CreateWellKnownSid(
            WinBuiltinAdministratorsSid,
            ptr::null_mut(),
            place,
            &mut size,
        ) == 0
            || CheckTokenMembership(ptr::null_mut(), place, &mut member) == 0
        {
            return Err(failure::last("read the own groups"));
        }
    }
    Ok(member != 0)
}

/// The SID of the account that this process runs as.
pub fn login_sid() -> Result<String, Failure> {
    let token = own(TOKEN_QUERY)?;
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
