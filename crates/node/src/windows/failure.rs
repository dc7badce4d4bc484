//! How refusals of Windows become failures that travel.

use std::fmt::Display;
use std::io;

use casement_resource::{Code, Failure};

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
        _ => "see the reason above; apply again when it is gone",
    }
}
