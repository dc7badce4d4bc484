//! Access control of files and directories: security descriptors as SDDL text,
//! owners as SIDs. Account names never appear, because they are localized.
#![allow(unsafe_code, reason = "security descriptors of the Windows API")]

use std::ffi::c_void;
use std::path::Path;
use std::ptr;

use casement_resource::Failure;
use windows_sys::Win32::Foundation::{ERROR_SUCCESS, LocalFree};
use windows_sys::Win32::Security::Authorization::{
    ConvertSecurityDescriptorToStringSecurityDescriptorW, ConvertSidToStringSidW,
    ConvertStringSecurityDescriptorToSecurityDescriptorW, GetNamedSecurityInfoW, SDDL_REVISION_1,
    SE_FILE_OBJECT, SetNamedSecurityInfoW,
};
use windows_sys::Win32::Security::{
    ACL, DACL_SECURITY_INFORMATION, GROUP_SECURITY_INFORMATION, GetSecurityDescriptorDacl,
    GetSecurityDescriptorOwner, OWNER_SECURITY_INFORMATION, PROTECTED_DACL_SECURITY_INFORMATION,
    PSECURITY_DESCRIPTOR, PSID, SetFileSecurityW, UNPROTECTED_DACL_SECURITY_INFORMATION,
};

use super::failure;
use super::wide::{from_pointer, wide};

mod access_check;
mod token;

pub use access_check::{access_facts, check_parent_dirs, check_program};
pub use token::{check_privileges, enable_privilege, login_sid};

/// SYSTEM and Administrators only, without inheritance from above; new children
/// inherit this.
pub const DIR_ADMINISTRATORS_ONLY: &str = "O:BAG:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)";
pub const FILE_ADMINISTRATORS_ONLY: &str = "O:BAG:BAD:P(A;;FA;;;SY)(A;;FA;;;BA)";

/// Allocated by Windows.
pub struct Descriptor(PSECURITY_DESCRIPTOR);

/// Whether the DACL does not inherit from the parent directory: `D:P…` or `D:PAI…`.
fn is_protected(sddl: &str) -> bool {
    let flags = sddl.split_once("D:").map_or("", |(_, list)| list);
    flags.split('(').next().unwrap_or_default().contains('P')
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: allocated by Windows with LocalAlloc.
        unsafe { LocalFree(self.0) };
    }
}

impl Descriptor {
    pub fn parse(sddl: &str) -> Result<Self, Failure> {
        let text = wide(sddl);
        let mut descriptor = ptr::null_mut();
        // SAFETY: NUL-terminated text and a writable pointer; the size is not requested.
        let read = unsafe {
            ConvertStringSecurityDescriptorToSecurityDescriptorW(
                text.as_ptr(),
                SDDL_REVISION_1,
                &mut descriptor,
                ptr::null_mut(),
            )
        };
        if read == 0 {
            return Err(failure::last_error(format_args!(
                "parse the security descriptor `{sddl}`"
            )));
        }
        Ok(Self(descriptor))
    }

    pub fn of(path: &Path) -> Result<Self, Failure> {
        let name = wide(path);
        let mut descriptor = ptr::null_mut();
        // SAFETY: NUL-terminated text and a writable pointer; parts are not requested.
        let code = unsafe {
            GetNamedSecurityInfoW(
                name.as_ptr(),
                SE_FILE_OBJECT,
                OWNER_SECURITY_INFORMATION | GROUP_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION,
                ptr::null_mut(),
                ptr::null_mut(),
                ptr::null_mut(),
                ptr::null_mut(),
                &mut descriptor,
            )
        };
        if code != ERROR_SUCCESS {
            let action = format!("read the access list of `{}`", path.display());
            return Err(failure::from_code(action, code));
        }
        Ok(Self(descriptor))
    }

    pub fn sddl(&self) -> Result<String, Failure> {
        let mut text = ptr::null_mut();
        // SAFETY: a valid descriptor and a writable pointer.
        let written = unsafe {
            ConvertSecurityDescriptorToStringSecurityDescriptorW(
                self.0,
                SDDL_REVISION_1,
                OWNER_SECURITY_INFORMATION | GROUP_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION,
                &mut text,
                ptr::null_mut(),
            )
        };
        if written == 0 {
            return Err(failure::last_error("format a security descriptor"));
        }
        // SAFETY: text allocated by Windows, freed once.
        unsafe {
            let sddl = from_pointer(text);
            LocalFree(text.cast());
            Ok(sddl)
        }
    }

    pub fn owner(&self) -> Result<String, Failure> {
        let (mut owner, mut defaulted) = (ptr::null_mut(), 0);
        // SAFETY: a valid descriptor and writable pointers.
        if unsafe { GetSecurityDescriptorOwner(self.0, &mut owner, &mut defaulted) } == 0 {
            return Err(failure::last_error(
                "read the owner of a security descriptor",
            ));
        }
        // SAFETY: the owner is inside the descriptor.
        unsafe { sid_text(owner) }
    }

    /// Null means that everyone has full access.
    fn dacl(&self) -> Result<*mut ACL, Failure> {
        let (mut present, mut dacl, mut defaulted) = (0, ptr::null_mut(), 0);
        // SAFETY: a valid descriptor and writable pointers.
        let read =
            unsafe { GetSecurityDescriptorDacl(self.0, &mut present, &mut dacl, &mut defaulted) };
        if read == 0 {
            return Err(failure::last_error("read an access list"));
        }
        Ok(if present == 0 { ptr::null_mut() } else { dacl })
    }

    /// For calls that create an object with this descriptor.
    pub fn as_ptr(&self) -> *mut c_void {
        self.0
    }
}

/// Sets the DACL; the owner is not changed.
pub fn set_access(path: &Path, sddl: &str) -> Result<(), Failure> {
    let descriptor = Descriptor::parse(sddl)?;
    let inheritance = if is_protected(sddl) {
        PROTECTED_DACL_SECURITY_INFORMATION
    } else {
        UNPROTECTED_DACL_SECURITY_INFORMATION
    };
    let name = wide(path);
    // SAFETY: NUL-terminated text; the list is inside the descriptor.
    let code = unsafe {
        SetNamedSecurityInfoW(
            name.as_ptr(),
            SE_FILE_OBJECT,
            DACL_SECURITY_INFORMATION | inheritance,
            ptr::null_mut(),
            ptr::null_mut(),
            descriptor.dacl()?,
            ptr::null(),
        )
    };
    let action = || format!("set the access list of `{}`", path.display());
    if code != ERROR_SUCCESS {
        return Err(failure::from_code(action(), code));
    }
    // The call above propagates to children but merges inherited entries; this one
    // sets exactly this list.
    // SAFETY: NUL-terminated text and a valid descriptor.
    match unsafe { SetFileSecurityW(name.as_ptr(), DACL_SECURITY_INFORMATION, descriptor.0) } {
        0 => Err(failure::last_error(action())),
        _ => Ok(()),
    }
}

/// A SID as text.
///
/// # Safety
///
/// `sid` must be null or valid.
unsafe fn sid_text(sid: PSID) -> Result<String, Failure> {
    let mut text = ptr::null_mut();
    // SAFETY: the caller guarantees the SID; null is rejected.
    if sid.is_null() || unsafe { ConvertSidToStringSidW(sid, &mut text) } == 0 {
        return Err(failure::last_error("read a security identifier"));
    }
    // SAFETY: text allocated by Windows, freed once.
    unsafe {
        let sid = from_pointer(text);
        LocalFree(text.cast());
        Ok(sid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protected_flag_is_read_from_the_dacl() {
        assert!(is_protected(DIR_ADMINISTRATORS_ONLY));
        assert!(is_protected("O:BAG:BAD:PAI(A;;FA;;;SY)"));
        assert!(!is_protected("O:BAG:BAD:AI(A;ID;FA;;;SY)"));
        assert!(!is_protected("O:BAG:BAD:(A;;GA;;;PU)"));
        assert!(!is_protected("O:BA"));
    }
}
