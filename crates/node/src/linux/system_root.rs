//! The root directory and the programs of a Linux host. Tests use a directory and
//! programs of their own.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::system_failure;
use crate::platform::Result;

/// Searched last: not every login has these directories on its search path, and most
/// tools of the agent are there.
const SYSTEM_DIRS: &str = "/usr/sbin:/sbin";

#[derive(Debug, Clone)]
pub(super) struct SystemRoot {
    root: PathBuf,
    /// Searched for programs first.
    programs: Option<PathBuf>,
}

impl Default for SystemRoot {
    fn default() -> Self {
        Self {
            root: PathBuf::from("/"),
            programs: None,
        }
    }
}

impl SystemRoot {
    /// A test host in a directory, with its programs in `bin`.
    #[cfg(test)]
    pub(super) fn below(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            programs: Some(root.join("bin")),
        }
    }

    /// A path below the root; `path` has no leading slash.
    pub(super) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.join(path)
    }

    /// Runs a system tool and returns its standard output; on failure, the error has its
    /// standard error.
    pub(super) fn run_tool(&self, arguments: &[&str]) -> Result<String> {
        require_success(arguments, &self.run_for_status(arguments)?)
    }

    /// Runs a tool whose exit code is part of its result.
    pub(super) fn run_for_status(&self, arguments: &[&str]) -> Result<Output> {
        let name = arguments.first().copied().unwrap_or_default();
        Command::new(name)
            .args(arguments.get(1..).unwrap_or_default())
            .env("LC_ALL", "C")
            .env("PATH", self.search_path())
            // Disables prompts.
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| {
                let line = arguments.join(" ");
                system_failure(format!("failed to start `{line}`"), &error)
            })
    }

    fn search_path(&self) -> OsString {
        let mut dirs = Vec::from_iter(self.programs.clone());
        dirs.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
        dirs.extend(env::split_paths(SYSTEM_DIRS));
        // None of them contains a `:`: all come from such lists.
        env::join_paths(dirs).unwrap_or_else(|_| OsString::from(SYSTEM_DIRS))
    }
}

/// The standard output of a successful tool, otherwise a failure with its standard
/// error.
pub(super) fn require_success(arguments: &[&str], output: &Output) -> Result<String> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(system_failure(
        format!("`{}` failed", arguments.join(" ")),
        &io::Error::other(stderr),
    ))
}
