//! Errors of files on the host and on this computer.

use std::io;
use std::path::PathBuf;

use casement_diag::Problem;

use super::HostLabel;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// A file operation on the host failed.
    #[error("failed to {action} `{path}` on {host}: {reason}")]
    Remote {
        host: HostLabel,
        /// "read", "write", "create the directory" and the like.
        action: &'static str,
        path: String,
        reason: String,
    },
    /// A local file cannot be read or written.
    #[error("failed to {action} `{}`", path.display())]
    Local {
        /// "read", "write" and the like.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

impl FileError {
    pub fn problem(&self) -> Problem {
        let what = self.to_string();
        match self {
            Self::Remote { .. } => Problem::new(
                "CAS-SSH-019",
                what,
                "Check the free disk space and the permissions of the account on the host.",
            ),
            Self::Local { source, .. } => {
                Problem::new("CAS-SSH-020", what, "Check the path and its permissions.")
                    .detail("reason", source)
            }
        }
    }
}
