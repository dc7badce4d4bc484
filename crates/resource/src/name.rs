//! Typed names for documents and the wire, so that they cannot be confused.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Empty, or too long.
    #[error("a {what} must have 1 to {limit} characters, but `{text}` has {length}")]
    Length {
        what: &'static str,
        limit: usize,
        length: usize,
        /// The text, shortened.
        text: String,
    },
    /// A character that is not allowed in this kind of name.
    #[error("a {what} cannot contain `{}`", character.escape_default())]
    Character {
        what: &'static str,
        /// The first invalid character.
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
    /// A step's id (`service kubelet`), stable across documents and stages: the prior
    /// state is recorded under it.
    ResourceId,
    "resource id",
    240,
    |character| !character.is_control()
);
name!(
    /// A run's id, also used as a file name on the host.
    RunId,
    "run id",
    64,
    |character| character.is_ascii_alphanumeric() || character == '-'
);
name!(
    /// A secret's name; its value is sent separately and stays in memory.
    SecretName,
    "secret name",
    64,
    |character| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.')
);
name!(
    /// A kernel module name; the kernel treats `-` and `_` as equal.
    ModuleName,
    "kernel module name",
    64,
    |character| character.is_ascii_alphanumeric() || matches!(character, '-' | '_')
);
name!(
    /// An apt or dnf package name, optionally with an architecture.
    PackageName,
    "package name",
    128,
    |character| character.is_ascii_alphanumeric() || "+-._:".contains(character)
);
name!(
    /// A package version in the package manager's format.
    PackageVersion,
    "package version",
    128,
    |character| character.is_ascii_alphanumeric() || "+-._:~^".contains(character)
);
name!(
    /// A systemd unit name with suffix (`dev-sda2.swap`).
    UnitName,
    "unit name",
    255,
    |character| character.is_ascii_alphanumeric() || r":-_.\@".contains(character)
);
name!(
    /// A network link name; the length is the kernel's limit.
    LinkName,
    "link name",
    15,
    |character| character.is_ascii_alphanumeric() || "-_.@".contains(character)
);
name!(
    /// Text within one line of a file.
    LineText,
    "line text",
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
    fn a_line_has_no_line_break() {
        assert!("a\tb # c".parse::<LineText>().is_ok());
        assert!("a\nb".parse::<LineText>().is_err());
        assert!("sixteen-letters-".parse::<LinkName>().is_err());
        assert!("kubelet=1".parse::<PackageName>().is_err());
        assert!(r"dev-disk-by\x2duuid.swap".parse::<UnitName>().is_ok());
    }

    #[test]
    fn deserialized_names_are_validated() {
        assert!(serde_json::from_str::<ResourceId>("\"a\\nb\"").is_err());
        assert!(serde_json::from_str::<ResourceId>("\"service kubelet\"").is_ok());
    }
}
