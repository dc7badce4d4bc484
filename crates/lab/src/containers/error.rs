//! Why a container could not be had.

use std::io;
use std::path::{Path, PathBuf};

use lab_wire::Failure;

/// What the shim gets to hear as a [`Failure`].
#[derive(Debug, thiserror::Error)]
pub enum ContainerError {
    /// An id that would lead out of the work folder.
    #[error("`{0}` is no id of a container, sandbox or exec")]
    BadId(String),
    /// Nothing was created under that id, or it is deleted.
    #[error("there is no container `{0}`")]
    Unknown(String),
    /// Created twice.
    #[error("container `{0}` exists already")]
    Exists(String),
    /// The pod's HCN namespace has no network namespace behind it.
    #[error("there is no network namespace for HCN namespace `{0}`")]
    NoNetwork(String),
    /// A pipe, another drive, or a way upwards.
    #[error("`{0}` is no path on drive C")]
    BadPath(String),
    /// A mount whose place is taken by something that is not the container's.
    #[error("`{0}` lies in another mount and is taken there")]
    Taken(String),
    /// A mount from nothing.
    #[error("the host has no `{0}`")]
    NoSource(String),
    /// The clean prefix is not one.
    #[error("the pod template has no `{}`", .0.display())]
    Template(PathBuf),
    /// The kernel refused the overlay.
    #[error("could not mount an overlay on `{}`", .0.display())]
    Overlay(PathBuf, #[source] io::Error),
    /// A file operation.
    #[error("could not {} `{}`", .0, .1.display())]
    File(&'static str, PathBuf, #[source] io::Error),
    /// `CreateProcess` refused, with its error code.
    #[error("failed to create process: {} ({})", win32_text(*.0), .0)]
    Refused(u32),
    /// Neither `started` nor `failed` was heard.
    #[error("the container's Wine did not come up: {0}")]
    Silent(String),
    /// Processes that do not end.
    #[error("processes {0:?} of the container do not end")]
    Immortal(Vec<u32>),
    /// What cannot happen between two parts of the same program.
    #[error("{0}")]
    Broken(String),
}

impl ContainerError {
    /// For `map_err` of file operations.
    pub(super) fn file(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::File(verb, path, error)
    }

    fn code(&self) -> u32 {
        const E_FAIL: u32 = 0x8000_4005;
        match self {
            Self::Refused(code) => *code,
            Self::Unknown(_) => 1168, // ERROR_NOT_FOUND
            Self::Exists(_) => 183,   // ERROR_ALREADY_EXISTS
            _ => E_FAIL,
        }
    }
}

impl From<ContainerError> for Failure {
    fn from(error: ContainerError) -> Self {
        let mut text = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            text = format!("{text}: {cause}");
            source = cause.source();
        }
        Self {
            code: error.code(),
            text,
        }
    }
}

/// What Windows says for the codes that a bad command gives.
fn win32_text(code: u32) -> &'static str {
    match code {
        2 => "The system cannot find the file specified.",
        3 => "The system cannot find the path specified.",
        5 => "Access is denied.",
        193 => "%1 is not a valid Win32 application.",
        267 => "The directory name is invalid.",
        _ => "The operation failed.",
    }
}
