//! How refusals of Windows become failures that travel.

use std::fmt::Display;
use std::io;

use casement_resource::{Code, Failure};
use windows_sys::Win32::Foundation::{ERROR_LOCK_VIOLATION, ERROR_SHARING_VIOLATION};

/// A call that Windows refused: what was tried, and Windows' code and words.
pub fn system(doing: impl Display, error: &io::Error) -> Failure {
    Failure::new(
        Code::System,
        format!("cannot {doing}: {error}"),
        remedy(error),
    )
}

/// The refusal that the calling thread saw last.
pub fn last(doing: impl Display) -> Failure {
    system(doing, &io::Error::last_os_error())
}

/// A refusal that a function returned as its value.
pub fn refused(doing: impl Display, code: u32) -> Failure {
    system(doing, &io::Error::from_raw_os_error(code.cast_signed()))
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "log in with an account of the group Administrators; a virus scanner may also hold the file"
        }
        io::ErrorKind::StorageFull => "free space on the drive, then apply again",
        _ if is_in_use(error) => {
            "a program holds the file open: end it (Resource Monitor names it), then apply again"
        }
        _ => "see the reason above; apply again when it is gone",
    }
}

/// Whether somebody has a file open and lets nobody else have it.
pub fn is_in_use(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error().map(i32::cast_unsigned),
        Some(ERROR_SHARING_VIOLATION | ERROR_LOCK_VIOLATION)
    )
}
