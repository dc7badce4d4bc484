//! Directories on Windows hosts.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::Invalid;
use crate::name::shown;

/// An absolute directory on a Windows host, such as `C:\k`.
///
/// Never the root of a drive: casement owns the whole directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct WindowsPath(String);

impl WindowsPath {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for WindowsPath {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let Some(reason) = validate(text) else {
            return Ok(Self(text.to_owned()));
        };
        let corrected = text.replace('/', "\\");
        let corrected = corrected.trim_end_matches('\\');
        let suggestion =
            (corrected != text && validate(corrected).is_none()).then(|| corrected.to_owned());
        Err(Invalid::new("Windows path", text, reason).suggest(suggestion))
    }
}

fn validate(text: &str) -> Option<String> {
    let mut chars = text.chars();
    let drive = chars.next().is_some_and(|c| c.is_ascii_alphabetic());
    let Some(rest) = chars.as_str().strip_prefix(":\\").filter(|_| drive) else {
        return Some("it must start with a drive such as `C:\\`".to_owned());
    };
    if rest.is_empty() {
        return Some("it must not be the root of a drive".to_owned());
    }
    if let Some(bad) = rest
        .chars()
        .find(|c| c.is_control() || "<>:\"/|?*".contains(*c))
    {
        return Some(format!("{} is not allowed", shown(bad)));
    }
    let invalid = |part: &str| part.is_empty() || part.ends_with(['.', ' ']);
    rest.split('\\').any(invalid).then(|| {
        "it contains an empty component, or one that ends with a dot or a space".to_owned()
    })
}

impl fmt::Display for WindowsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_path_is_absolute_and_below_a_drive() {
        for good in [r"C:\k", r"d:\Program Files\k"] {
            assert!(good.parse::<WindowsPath>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "k",
            r"C:\",
            "C:",
            r"\\srv\k",
            r"C:\a\..\b",
            "/opt/k",
            r"C:\a*",
        ] {
            assert!(bad.parse::<WindowsPath>().is_err(), "{bad}");
        }
        let wrong = "C:/k/".parse::<WindowsPath>().unwrap_err();
        assert_eq!(wrong.suggestion.as_deref(), Some(r"C:\k"));
    }
}
