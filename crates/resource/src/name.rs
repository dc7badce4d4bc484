//! The names that documents and the wire use: each its own type, so that one
//! cannot stand where another is meant.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Why a text is no name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Empty, or longer than a name may be.
    #[error("a {what} has 1 to {limit} characters, `{text}` has {length}")]
    Length {
        /// Kind of name.
        what: &'static str,
        /// Most characters allowed.
        limit: usize,
        /// How many there are.
        length: usize,
        /// The text, shortened.
        text: String,
    },
    /// A character that this kind of name does not have.
    #[error("a {what} cannot contain `{}`", character.escape_default())]
    Character {
        /// Kind of name.
        what: &'static str,
        /// The first one that is wrong.
        character: char,
    },
}

fn check(
    what: &'static str,
    limit: usize,
    text: &str,
    allowed: fn(char) -> bool,
) -> Result<(), NameError> {
    let length = text.chars().count();
    if length == 0 || length > limit {
        return Err(NameError::Length {
            what,
            limit,
            length,
            text: text.chars().take(40).collect(),
        });
    }
    match text.chars().find(|character| !allowed(*character)) {
        Some(character) => Err(NameError::Character { what, character }),
        None => Ok(()),
    }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal, $limit:literal, $allowed:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;
            fn try_from(text: String) -> Result<Self, NameError> {
                check($what, $limit, &text, $allowed)?;
                Ok(Self(text))
            }
        }

        impl FromStr for $name {
            type Err = NameError;
            fn from_str(text: &str) -> Result<Self, NameError> {
                Self::try_from(text.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }
    };
}

name!(
    /// Names one step of a host for ever, across documents and stages: what was
    /// there before it, is recorded under it. People read it (`service kubelet`).
    ResourceId,
    "resource id",
    240,
    |character| !character.is_control()
);
name!(
    /// Names one run; it is also a file name on the host.
    RunId,
    "run id",
    64,
    |character| character.is_ascii_alphanumeric() || character == '-'
);
name!(
    /// Names a secret; the value travels apart and stays in memory.
    SecretName,
    "secret name",
    64,
    |character| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.')
);
name!(
    /// Names a kernel module; `-` and `_` mean the same to the kernel.
    ModuleName,
    "kernel module's name",
    64,
    |character| character.is_ascii_alphanumeric() || matches!(character, '-' | '_')
);
name!(
    /// Names a package of apt or dnf, with its architecture if need be.
    PackageName,
    "package's name",
    128,
    |character| character.is_ascii_alphanumeric() || "+-._:".contains(character)
);
name!(
    /// The version of a package, whole, as its manager writes it.
    PackageVersion,
    "package's version",
    128,
    |character| character.is_ascii_alphanumeric() || "+-._:~^".contains(character)
);
name!(
    /// Names a unit of systemd, with its suffix (`dev-sda2.swap`).
    UnitName,
    "unit's name",
    255,
    |character| character.is_ascii_alphanumeric() || r":-_.\@".contains(character)
);
name!(
    /// Names a network link; the kernel takes no longer ones.
    LinkName,
    "link's name",
    15,
    |character| character.is_ascii_alphanumeric() || "-_.@".contains(character)
);
name!(
    /// A piece of text within one line of a file.
    LineText,
    "line's text",
    4096,
    |character| !character.is_control() || character == '\t'
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_id_cannot_leave_its_folder() {
        assert!("../x".parse::<RunId>().is_err());
        assert!("".parse::<RunId>().is_err());
        assert!("r-1".parse::<RunId>().is_ok());
    }

    #[test]
    fn a_line_is_one_line() {
        assert!("a\tb # c".parse::<LineText>().is_ok());
        assert!("a\nb".parse::<LineText>().is_err());
        assert!("sixteen-letters-".parse::<LinkName>().is_err());
        assert!("kubelet=1".parse::<PackageName>().is_err());
        assert!(r"dev-disk-by\x2duuid.swap".parse::<UnitName>().is_ok());
    }

    #[test]
    fn names_are_checked_when_read() {
        assert!(serde_json::from_str::<ResourceId>("\"a\\nb\"").is_err());
        assert!(serde_json::from_str::<ResourceId>("\"service kubelet\"").is_ok());
    }
}
