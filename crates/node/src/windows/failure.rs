//! Conversion of Windows errors to [`Failure`].

use std::fmt::Display;
use std::io;

use casement_resource::{Code, Failure};
use windows_sys::Win32::Foundation::{ERROR_LOCK_VIOLATION, ERROR_SHARING_VIOLATION};

/// `action` completes the sentence "cannot …".
pub fn system(action: impl Display, error: &io::Error) -> Failure {
    Failure::new(
        Code::System,
        format!("failed to {action}: {error}"),
        help_for(error),
    )
}

/// From `GetLastError`.
pub fn last_error(action: impl Display) -> Failure {
    system(action, &io::Error::last_os_error())
}

/// From an error code that a function returned.
pub fn from_code(action: impl Display, code: u32) -> Failure {
    system(action, &io::Error::from_raw_os_error(code.cast_signed()))
}

fn help_for(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "log in as a member of the group Administrators, and check whether antivirus software blocks the file"
        }
        io::ErrorKind::StorageFull => "free space on the drive, then run `casement apply` again",
        _ if is_in_use(error) => {
            "another program holds the file open: stop it (Resource Monitor shows it), then run `casement apply` again"
        }
        _ => "resolve the error above, then run `casement apply` again",
    }
}

/// Another process has the file open without sharing it.
pub fn is_in_use(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error().map(i32::cast_unsigned),
        Some(ERROR_SHARING_VIOLATION | ERROR_LOCK_VIOLATION)
    )
}
