//! The directories of the lab. Nothing is written outside them.

use std::borrow::Cow;
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::problem::{Problem, Result};

#[derive(Debug, Clone)]
pub struct LabPaths {
    state: PathBuf,
    cache: PathBuf,
}

impl LabPaths {
    /// From the XDG variables, otherwise below HOME.
    pub fn from_env() -> Result<Self> {
        let home = || {
            env::var_os("HOME").map(PathBuf::from).ok_or_else(|| {
                Problem::new(
                    "CAS-LAB-012",
                    "HOME is not set, and XDG_STATE_HOME or XDG_CACHE_HOME is missing",
                    "set HOME to a directory that the lab may write to",
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

    /// The parent directory of all labs.
    pub fn labs(&self) -> &Path {
        &self.state
    }

    /// The directory of one lab; `lab down` removes it.
    pub fn lab(&self, name: &LabName) -> PathBuf {
        self.state.join(name.as_str())
    }

    /// Build results that all labs share.
    pub fn cache(&self) -> &Path {
        &self.cache
    }
}

/// The lab that commands use without `--name`.
pub const DEFAULT_NAME: &str = "default";

/// The name of the lab in this directory.
pub fn lab_name(lab: &Path) -> Cow<'_, str> {
    lab.file_name()
        .map(OsStr::to_string_lossy)
        .unwrap_or_default()
}

/// `casement lab VERB` for this lab, for help texts.
pub fn lab_command(name: &str, verb: &str) -> String {
    match name {
        "" | DEFAULT_NAME => format!("casement lab {verb}"),
        name => format!("casement lab {verb} --name {name}"),
    }
}

/// The help for a lab that has to be created again.
pub fn recreate(name: &str) -> String {
    let (down, up) = (lab_command(name, "down"), lab_command(name, "up"));
    format!("run `{down}`, then `{up}`")
}

/// The name of a lab, at most 12 characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LabName(String);

impl LabName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for LabName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let valid = (1..=12).contains(&text.len())
            && text
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            && text.starts_with(|c: char| c.is_ascii_lowercase());
        if valid {
            Ok(Self(text.to_owned()))
        } else {
            Err(format!(
                "`{text}` is not a valid lab name: use 1 to 12 characters from a-z, 0-9 and `-`, \
                 starting with a letter"
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
    fn commands_name_the_lab_unless_it_is_the_default() {
        let recreate_lab = |dir: &str| recreate(&lab_name(Path::new(dir)));
        assert_eq!(
            recreate_lab("/var/lib/casement/lab/default"),
            "run `casement lab down`, then `casement lab up`"
        );
        assert_eq!(
            recreate_lab("/var/lib/casement/lab/ci-2"),
            "run `casement lab down --name ci-2`, then `casement lab up --name ci-2`"
        );
    }

    #[test]
    fn lab_name_allows_12_lowercase_characters() {
        for valid in ["default", "a", "ci-2"] {
            assert!(valid.parse::<LabName>().is_ok(), "{valid}");
        }
        for invalid in ["", "2a", "../x", "Default", "far-too-long-a-name"] {
            assert!(invalid.parse::<LabName>().is_err(), "{invalid}");
        }
    }
}
