//! Where the lab keeps what it has: nothing is ever written elsewhere.

use std::env;
use std::path::{Path, PathBuf};

use crate::problem::{Problem, Result};

/// The folders of the lab on this machine.
#[derive(Debug, Clone)]
pub struct Places {
    state: PathBuf,
    cache: PathBuf,
}

impl Places {
    /// By the XDG variables, else below the home directory.
    pub fn of_this_user() -> Result<Self> {
        let home = || {
            env::var_os("HOME").map(PathBuf::from).ok_or_else(|| {
                Problem::new(
                    "CAS-LAB-012",
                    "neither HOME nor XDG_STATE_HOME and XDG_CACHE_HOME are set",
                    "set HOME to the folder that the lab may write below",
                )
            })
        };
        let base = |variable: &str, below_home: &str| match env::var_os(variable) {
            Some(path) if Path::new(&path).is_absolute() => Ok(PathBuf::from(path)),
            _ => home().map(|home| home.join(below_home)),
        };
        Ok(Self {
            state: base("XDG_STATE_HOME", ".local/state")?.join("casement/lab"),
            cache: base("XDG_CACHE_HOME", ".cache")?.join("casement/lab"),
        })
    }

    /// The folder in which each lab has its own.
    pub fn labs(&self) -> &Path {
        &self.state
    }

    /// Everything about one lab; gone after `lab down`.
    pub fn lab(&self, name: &LabName) -> PathBuf {
        self.state.join(name.as_str())
    }

    /// The folder in which each demo has its own.
    pub fn demos(&self) -> PathBuf {
        self.state.with_file_name("demo")
    }

    /// What was built once and is kept for all labs.
    pub fn cache(&self) -> &Path {
        &self.cache
    }
}

/// The name of a lab: short, since it becomes part of device names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LabName(String);

impl LabName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for LabName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fits = (1..=12).contains(&text.len())
            && text
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            && text.starts_with(|c: char| c.is_ascii_lowercase());
        if fits {
            Ok(Self(text.to_owned()))
        } else {
            Err(format!(
                "`{text}` is no name for a lab: 1 to 12 of a-z, 0-9 and `-`, a letter first"
            ))
        }
    }
}

impl std::fmt::Display for LabName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lab_name_is_short_and_plain() {
        for good in ["default", "a", "ci-2"] {
            assert!(good.parse::<LabName>().is_ok(), "{good}");
        }
        for bad in ["", "2a", "../x", "Default", "far-too-long-a-name"] {
            assert!(bad.parse::<LabName>().is_err(), "{bad}");
        }
    }
}
