//! `file`: bytes at a path, replaced as a whole.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::diff::{compare_access, content};
use crate::{Access, AccessFacts, Change, Diff, HostPath, Sha256};

/// The bytes of a file; text in JSON where they are UTF-8, base64 otherwise.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Content(Vec<u8>);

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum Written {
    Text(String),
    Base64(String),
}

impl Content {
    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Their hash.
    #[must_use]
    pub fn sha256(&self) -> Sha256 {
        Sha256::of(&self.0)
    }
}

/// Contents are shown by hash, here too: a dump of a document shows no key.
impl std::fmt::Debug for Content {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "Content({})",
            content(&self.sha256(), self.0.len() as u64)
        )
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self(text.into_bytes())
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<Content> for Written {
    fn from(content: Content) -> Self {
        match String::from_utf8(content.0) {
            Ok(text) => Self::Text(text),
            Err(error) => Self::Base64(STANDARD.encode(error.as_bytes())),
        }
    }
}

impl TryFrom<Written> for Content {
    type Error = base64::DecodeError;
    fn try_from(written: Written) -> Result<Self, base64::DecodeError> {
        Ok(Self(match written {
            Written::Text(text) => text.into_bytes(),
            Written::Base64(text) => STANDARD.decode(text)?,
        }))
    }
}

/// A file that should exist; parents are made as needed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct File {
    /// Where.
    pub path: HostPath,
    /// What it holds.
    pub content: Content,
    /// Who may use it.
    pub access: Access,
}

/// A file as found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum FileFacts {
    /// Nothing has this name.
    Absent,
    /// Something that is no plain file has this name.
    InTheWay,
    /// It exists.
    Present {
        /// The hash of its bytes.
        sha256: Sha256,
        /// How many bytes.
        size: u64,
        /// Who may use it.
        access: AccessFacts,
    },
}

impl File {
    /// What is to change.
    #[must_use]
    pub fn diff(&self, facts: &FileFacts) -> Diff {
        let wanted = content(&self.content.sha256(), self.content.bytes().len() as u64);
        match facts {
            FileFacts::Absent => Diff::Changes(vec![Change::missing("content", wanted)]),
            FileFacts::InTheWay => {
                Diff::Changes(vec![Change::field("exists", "no plain file", "a file")])
            }
            FileFacts::Present {
                sha256,
                size,
                access,
            } => {
                let mut changes = Vec::new();
                if *sha256 != self.content.sha256() {
                    changes.push(Change::field("content", content(sha256, *size), &wanted));
                }
                compare_access(&mut changes, self.access, access);
                Diff::from_changes(changes, || format!("same content ({wanted})"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(content: &str) -> File {
        File {
            path: "/etc/x".parse().unwrap(),
            content: content.into(),
            access: Access::Inherited,
        }
    }

    #[test]
    fn contents_are_shown_by_hash_only() {
        let wanted = file("password");
        let facts = FileFacts::Present {
            sha256: Sha256::of(b"old password"),
            size: 12,
            access: AccessFacts {
                administrators_only: false,
                owner_trusted: true,
                descriptor: "0644 0:0".to_owned(),
            },
        };
        let diff = wanted.diff(&facts);
        assert!(!diff.is_right());
        assert!(!format!("{diff:?} {wanted:?}").contains("password"));
    }

    #[test]
    fn bytes_that_are_no_text_travel_as_base64() {
        let content = Content::from(vec![0xff, 0]);
        let json = serde_json::to_string(&content).unwrap();
        assert_eq!(json, r#"{"base64":"/wA="}"#);
        assert_eq!(serde_json::from_str::<Content>(&json).unwrap(), content);
        let json = serde_json::to_string(&Content::from("a")).unwrap();
        assert_eq!(json, r#"{"text":"a"}"#);
    }
}
