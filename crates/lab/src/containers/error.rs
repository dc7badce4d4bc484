//! Errors of container calls.

use std::io;
use std::path::{Path, PathBuf};

use lab_wire::Failure;

/// The shim receives these as a [`Failure`].
#[derive(Debug, thiserror::Error)]
pub enum ContainerError {
    /// The id is not safe as a directory name.
    #[error("`{0}` is not a valid container, sandbox or exec id")]
    BadId(String),
    /// Never created, or already deleted.
    #[error("container `{0}` not found")]
    Unknown(String),
    #[error("container `{0}` already exists")]
    Exists(String),
    #[error("HCN namespace `{0}` has no network namespace")]
    NoNetwork(String),
    /// A pipe, another drive, or a path with `..`.
    #[error("`{0}` is not a path on drive C")]
    BadPath(String),
    /// The mount target exists inside another mount, so it must not be removed.
    #[error("`{0}` already exists inside another mount")]
    Occupied(String),
    #[error("mount source `{0}` does not exist on the host")]
    NoSource(String),
    #[error("the pod template has no `{}`", .0.display())]
    Template(PathBuf),
    #[error("failed to mount an overlay on `{}`", .0.display())]
    Overlay(PathBuf, #[source] io::Error),
    #[error("failed to {} `{}`", .0, .1.display())]
    File(&'static str, PathBuf, #[source] io::Error),
    /// `CreateProcess` failed with this error code. The wording is that of Windows.
    #[error("failed to create process: {} ({})", win32_text(*.0), .0)]
    CreateProcess(u32),
    /// Neither `started` nor `failed` was reported.
    #[error("Wine did not start in the container: {0}")]
    NotStarted(String),
    #[error("processes {0:?} of the container did not end after a kill")]
    StillRunning(Vec<u32>),
    /// A bug or a problem of the lab itself.
    #[error("{0}")]
    Internal(String),
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
            Self::CreateProcess(code) => *code,
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

/// The Windows messages for the usual error codes of `CreateProcess`.
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
