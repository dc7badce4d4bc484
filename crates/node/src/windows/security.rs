//! Who may do what with a file or folder: descriptors as text (SDDL), owners
//! as SIDs. Names of accounts never appear, since they are localized.
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

#[path = "security/access_check.rs"]
mod judgement;
mod token;

pub use judgement::{check_program, check_way, judge};
pub use token::{check_standing, enable_privilege, login_sid};

/// SYSTEM and Administrators only, nothing from above: for a folder, and for
/// what will be made in it.
pub const FOLDER_ADMINISTRATORS_ONLY: &str = "O:BAG:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)";
/// The same for a file.
pub const FILE_ADMINISTRATORS_ONLY: &str = "O:BAG:BAD:P(A;;FA;;;SY)(A;;FA;;;BA)";

/// A descriptor in memory that Windows allocated.
pub struct Descriptor(PSECURITY_DESCRIPTOR);

/// Whether a descriptor as text has a list that takes nothing from the folder
/// above: `D:P…` or `D:PAI…`.
fn is_protected(sddl: &str) -> bool {
    let flags = sddl.split_once("D:").map_or("", |(_, list)| list);
    flags.split('(').next().unwrap_or_default().contains('P')
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: allocated by Windows for the caller, who frees it so.
        unsafe { LocalFree(self.0) };
    }
}

impl Descriptor {
    /// Reads SDDL.
    pub fn parse(sddl: &str) -> Result<Self, Failure> {
        let text = wide(sddl);
        let mut descriptor = ptr::null_mut();
        // SAFETY: terminated text and a place; the size is not asked for.
        let read = unsafe {
            ConvertStringSecurityDescriptorToSecurityDescriptorW(
                text.as_ptr(),
                SDDL_REVISION_1,
                &mut descriptor,
                ptr::null_mut(),
            )
        };
        if read == 0 {
            return Err(failure::last(format_args!("read the descriptor `{sddl}`")));
        }
        Ok(Self(descriptor))
    }

    /// The descriptor of a file or folder.
    pub fn of(path: &Path) -> Result<Self, Failure> {
        let name = wide(path);
        let mut descriptor = ptr::null_mut();
        // SAFETY: terminated text and a place; parts are not asked for.
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
            let doing = format!("read who may use `{}`", path.display());
            return Err(failure::refused(doing, code));
        }
        Ok(Self(descriptor))
    }

    /// As SDDL: what is recorded, and can be put back.
    pub fn sddl(&self) -> Result<String, Failure> {
        let mut text = ptr::null_mut();
        // SAFETY: a valid descriptor and a place.
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
            return Err(failure::last("write a security descriptor as text"));
        }
        // SAFETY: Windows' text, freed once.
        unsafe {
            let sddl = from_pointer(text);
            LocalFree(text.cast());
            Ok(sddl)
        }
    }

    /// The owner's SID.
    pub fn owner(&self) -> Result<String, Failure> {
        let (mut owner, mut defaulted) = (ptr::null_mut(), 0);
        // SAFETY: a valid descriptor and places.
        if unsafe { GetSecurityDescriptorOwner(self.0, &mut owner, &mut defaulted) } == 0 {
            return Err(failure::last("read an owner"));
        }
        // SAFETY: the owner lies inside the descriptor.
        unsafe { sid_text(owner) }
    }

    /// The list of who may; null means everybody.
    fn dacl(&self) -> Result<*mut ACL, Failure> {
        let (mut present, mut dacl, mut defaulted) = (0, ptr::null_mut(), 0);
        // SAFETY: a valid descriptor and places.
        let read =
            unsafe { GetSecurityDescriptorDacl(self.0, &mut present, &mut dacl, &mut defaulted) };
        if read == 0 {
            return Err(failure::last("read an access list"));
        }
        Ok(if present == 0 { ptr::null_mut() } else { dacl })
    }

    /// For calls that make something with a descriptor from the start.
    pub fn as_ptr(&self) -> *mut c_void {
        self.0
    }
}

/// Gives a file or folder the access list of a descriptor as text; its owner
/// stays.
pub fn set_access(path: &Path, sddl: &str) -> Result<(), Failure> {
    let descriptor = Descriptor::parse(sddl)?;
    let inheritance = if is_protected(sddl) {
        PROTECTED_DACL_SECURITY_INFORMATION
    } else {
        UNPROTECTED_DACL_SECURITY_INFORMATION
    };
    let name = wide(path);
    // SAFETY: terminated text; the list lies inside the descriptor.
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
    let doing = || format!("set who may use `{}`", path.display());
    if code != ERROR_SUCCESS {
        return Err(failure::refused(doing(), code));
    }
    // That call carries the change on to what is inside, but computes the list
    // from what is above; this one sets the list to the letter.
    // SAFETY: terminated text and a valid descriptor.
    match unsafe { SetFileSecurityW(name.as_ptr(), DACL_SECURITY_INFORMATION, descriptor.0) } {
        0 => Err(failure::last(doing())),
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
    // SAFETY: the caller vouches for the SID; null is refused.
    if sid.is_null() || unsafe { ConvertSidToStringSidW(sid, &mut text) } == 0 {
        return Err(failure::last("read a security identifier"));
    }
    // SAFETY: Windows' text, freed once.
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
    fn protection_is_read_from_the_flags_of_the_list() {
        assert!(is_protected(FOLDER_ADMINISTRATORS_ONLY));
        assert!(is_protected("O:BAG:BAD:PAI(A;;FA;;;SY)"));
        assert!(!is_protected("O:BAG:BAD:AI(A;ID;FA;;;SY)"));
        assert!(!is_protected("O:BAG:BAD:(A;;GA;;;PU)"));
        assert!(!is_protected("O:BA"));
    }
}
