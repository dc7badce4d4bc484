//! Folders on a Windows host.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::Invalid;
use crate::name::shown;

/// An absolute path of a folder on a Windows host, such as `C:\k`.
///
/// Never the root of a drive: casement takes the folder for itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct WindowsPath(String);

impl WindowsPath {
    /// As written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for WindowsPath {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let Some(reason) = fault(text) else {
            return Ok(Self(text.to_owned()));
        };
        let mended = text.replace('/', "\\");
        let mended = mended.trim_end_matches('\\');
        let suggestion = (mended != text && fault(mended).is_none()).then(|| mended.to_owned());
        Err(Invalid::new("folder on Windows", text, reason).suggest(suggestion))
    }
}

fn fault(text: &str) -> Option<String> {
    let mut chars = text.chars();
    let drive = chars.next().is_some_and(|c| c.is_ascii_alphabetic());
    let Some(rest) = chars.as_str().strip_prefix(":\\").filter(|_| drive) else {
        return Some("it does not begin with a drive, such as `C:\\`".to_owned());
    };
    if rest.is_empty() {
        return Some("the root of a drive cannot be taken".to_owned());
    }
    if let Some(bad) = rest
        .chars()
        .find(|c| c.is_control() || "<>:\"/|?*".contains(*c))
    {
        return Some(format!("{} is not allowed in it", shown(bad)));
    }
    let odd = |part: &str| part.is_empty() || part.ends_with(['.', ' ']);
    rest.split('\\')
        .any(odd)
        .then(|| "a part of it is empty or ends with a dot or a space".to_owned())
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
    fn a_folder_is_absolute_and_below_a_drive() {
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
