//! A path on a Windows or Linux host.
//!
//! The controller handles Windows paths on Linux, so `std::path` cannot be used.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Neither `/…` nor `X:\…`.
    #[error("`{0}` is not an absolute path: it must start with `/` or a drive such as `C:\\`")]
    NotAbsolute(String),
    /// `.` or `..`, an empty part, a trailing separator.
    #[error("`{path}` contains the component `{part}`, which is not allowed")]
    Part { path: String, part: String },
    /// A character that is not allowed in file names.
    #[error("`{path}` contains the invalid character `{}`", character.escape_default())]
    Character {
        path: String,
        /// The first invalid character.
        character: char,
    },
}

/// An absolute path: `C:\k\kubelet.exe` or `/var/lib/kubelet`.
///
/// Slashes in Windows paths become backslashes. Components are never `.` or `..`, so a
/// path cannot escape its folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostPath(String);

impl HostPath {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    #[must_use]
    pub fn is_windows(&self) -> bool {
        !self.0.starts_with('/')
    }

    /// None for `/` and `C:\`.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        let (root, rest) = self.split_root();
        if rest.is_empty() {
            return None;
        }
        let kept = match rest.rsplit_once(self.separator()) {
            Some((before, _)) => before,
            None => "",
        };
        Some(Self(format!("{root}{kept}")))
    }

    /// Empty for a root.
    #[must_use]
    pub fn file_name(&self) -> &str {
        let (_, rest) = self.split_root();
        rest.rsplit(self.separator()).next().unwrap_or_default()
    }

    /// `relative` may have several components, separated by `/` or the platform's
    /// separator.
    pub fn join(&self, relative: &str) -> Result<Self, PathError> {
        let separator = self.separator();
        let base = self.0.trim_end_matches(separator);
        format!("{base}{separator}{relative}").parse()
    }

    /// Whether `other` is this path or below it; ignores case on Windows.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        let fold = |path: &Self| {
            if path.is_windows() {
                path.0.to_lowercase()
            } else {
                path.0.clone()
            }
        };
        let (base, other) = (fold(self), fold(other));
        let base = base.trim_end_matches(self.separator());
        match other.strip_prefix(base) {
            Some(rest) => rest.is_empty() || rest.starts_with(self.separator()),
            None => false,
        }
    }

    fn separator(&self) -> char {
        if self.is_windows() { '\\' } else { '/' }
    }

    fn split_root(&self) -> (&str, &str) {
        let length = if self.is_windows() { 3 } else { 1 };
        self.0.split_at(length)
    }
}

impl TryFrom<String> for HostPath {
    type Error = PathError;

    fn try_from(text: String) -> Result<Self, PathError> {
        let bytes = text.as_bytes();
        let drive =
            matches!(bytes, [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic());
        let (path, separator, root) = match bytes {
            _ if drive => (text.replace('/', "\\"), '\\', 3),
            [b'/', ..] => (text.clone(), '/', 1),
            _ => return Err(PathError::NotAbsolute(text)),
        };
        let rest = path.get(root..).unwrap_or_default();
        let wrong = |character: &char| {
            character.is_control() || (drive && r#"<>:"|?*"#.contains(*character))
        };
        if let Some(character) = rest.chars().find(wrong) {
            return Err(PathError::Character { path, character });
        }
        let odd =
            |part: &&str| matches!(*part, "" | "." | "..") || (drive && part.ends_with(['.', ' ']));
        if !rest.is_empty()
            && let Some(part) = rest.split(separator).find(odd)
        {
            let part = part.to_owned();
            return Err(PathError::Part { path, part });
        }
        Ok(Self(path))
    }
}

impl FromStr for HostPath {
    type Err = PathError;
    fn from_str(text: &str) -> Result<Self, PathError> {
        Self::try_from(text.to_owned())
    }
}

impl From<HostPath> for String {
    fn from(path: HostPath) -> Self {
        path.0
    }
}

impl fmt::Display for HostPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> HostPath {
        text.parse().unwrap()
    }

    #[test]
    fn parents_end_at_the_root() {
        assert_eq!(path(r"C:\k\a.exe").parent(), Some(path(r"C:\k")));
        assert_eq!(path(r"C:\k").parent(), Some(path("C:\\")));
        assert_eq!(path("C:\\").parent(), None);
        assert_eq!(path("/var/lib").parent(), Some(path("/var")));
        assert_eq!(path("/var").parent(), Some(path("/")));
        assert_eq!(path("/").parent(), None);
    }

    #[test]
    fn a_path_cannot_escape_its_folder() {
        for text in [
            r"C:\k\..\x",
            "/a/../b",
            "/a//b",
            "/a/",
            "k",
            r"\\server\x",
            r"C:\a.",
            "C:\\a:b",
        ] {
            assert!(text.parse::<HostPath>().is_err(), "{text}");
        }
        assert!(path("/a").join("../b").is_err());
    }

    #[test]
    fn slashes_become_platform_separators() {
        assert_eq!(path("C:/k/x").as_str(), r"C:\k\x");
        assert_eq!(
            path(r"C:\k").join("bin/x.exe").unwrap().as_str(),
            r"C:\k\bin\x.exe"
        );
        assert_eq!(path("/").join("a").unwrap().as_str(), "/a");
    }

    #[test]
    fn windows_containment_ignores_case() {
        assert!(path(r"C:\K").contains(&path(r"c:\k\x")));
        assert!(!path(r"C:\K").contains(&path(r"c:\kx")));
        assert!(!path("/a").contains(&path("/A/b")));
        assert!(path("/").contains(&path("/b")));
    }
}
