//! What a Linux host stands on: its root folder and the programs that it has.
//! A test puts a folder and programs of its own in their place.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::system_failure;
use crate::platform::Result;

/// Looked through last: not everybody who logs in has them on the search path,
/// and most of what the agent runs is there.
const ALWAYS: &str = "/usr/sbin:/sbin";

/// Where the host's kernel, settings and programs are found.
#[derive(Debug, Clone)]
pub(super) struct Ground {
    root: PathBuf,
    /// Searched for programs before all others.
    programs: Option<PathBuf>,
}

impl Default for Ground {
    fn default() -> Self {
        Self {
            root: PathBuf::from("/"),
            programs: None,
        }
    }
}

impl Ground {
    /// A host that a test has put into a folder, its programs in `bin`.
    #[cfg(test)]
    pub(super) fn below(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            programs: Some(root.join("bin")),
        }
    }

    /// A path below the host's root, given without the slash in front.
    pub(super) fn path(&self, place: impl AsRef<Path>) -> PathBuf {
        self.root.join(place)
    }

    /// Runs a tool of the system's and gives its standard output; an error says
    /// what it wrote.
    pub(super) fn tool(&self, arguments: &[&str]) -> Result<String> {
        accepted(arguments, &self.ask(arguments)?)
    }

    /// Runs a tool whose exit code is part of its answer.
    pub(super) fn ask(&self, arguments: &[&str]) -> Result<Output> {
        let name = arguments.first().copied().unwrap_or_default();
        Command::new(name)
            .args(arguments.get(1..).unwrap_or_default())
            .env("LC_ALL", "C")
            .env("PATH", self.search_path())
            // Tools that ask people, ask nobody.
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| {
                let line = arguments.join(" ");
                system_failure(format!("`{line}` could not be run"), &error)
            })
    }

    fn search_path(&self) -> OsString {
        let mut folders = Vec::from_iter(self.programs.clone());
        folders.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
        folders.extend(env::split_paths(ALWAYS));
        // None of them holds a `:`: all come from such lists.
        env::join_paths(folders).unwrap_or_else(|_| OsString::from(ALWAYS))
    }
}

/// The standard output of a tool that succeeded; what it wrote to the other
/// stream is the failure of one that did not.
pub(super) fn accepted(arguments: &[&str], output: &Output) -> Result<String> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(system_failure(
        format!("`{}` failed", arguments.join(" ")),
        &io::Error::other(said),
    ))
}
