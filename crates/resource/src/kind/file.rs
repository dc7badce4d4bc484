//! `file`: the content of a file, replaced as a whole.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::diff::{compare_access, content};
use crate::{Access, AccessFacts, Change, Diff, HostPath, Sha256};

/// The bytes of a file; in JSON, text if they are UTF-8, otherwise base64.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ContentJson", into = "ContentJson")]
pub struct Content(Vec<u8>);

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum ContentJson {
    Text(String),
    Base64(String),
}

impl Content {
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    #[must_use]
    pub fn sha256(&self) -> Sha256 {
        Sha256::of(&self.0)
    }
}

/// Shows only the hash, so that a document dump contains no keys.
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

impl From<Content> for ContentJson {
    fn from(content: Content) -> Self {
        match String::from_utf8(content.0) {
            Ok(text) => Self::Text(text),
            Err(error) => Self::Base64(STANDARD.encode(error.as_bytes())),
        }
    }
}

impl TryFrom<ContentJson> for Content {
    type Error = base64::DecodeError;
    fn try_from(json: ContentJson) -> Result<Self, base64::DecodeError> {
        Ok(Self(match json {
            ContentJson::Text(text) => text.into_bytes(),
            ContentJson::Base64(text) => STANDARD.decode(text)?,
        }))
    }
}

/// Missing parent folders are created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct File {
    pub path: HostPath,
    pub content: Content,
    pub access: Access,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum FileFacts {
    /// The path does not exist.
    Absent,
    /// The path exists, but is not a regular file.
    InTheWay,
    Present {
        /// The hash of its bytes.
        sha256: Sha256,
        size: u64,
        access: AccessFacts,
    },
}

impl File {
    #[must_use]
    pub fn diff(&self, facts: &FileFacts) -> Diff {
        let wanted = content(&self.content.sha256(), self.content.bytes().len() as u64);
        match facts {
            FileFacts::Absent => Diff::Changes(vec![Change::missing("content", wanted)]),
            FileFacts::InTheWay => {
                Diff::Changes(vec![Change::field("type", "not a regular file", "file")])
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
    fn contents_are_shown_only_by_hash() {
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
        assert!(!diff.in_sync());
        assert!(!format!("{diff:?} {wanted:?}").contains("password"));
    }

    #[test]
    fn binary_content_is_encoded_as_base64() {
        let content = Content::from(vec![0xff, 0]);
        let json = serde_json::to_string(&content).unwrap();
        assert_eq!(json, r#"{"base64":"/wA="}"#);
        assert_eq!(serde_json::from_str::<Content>(&json).unwrap(), content);
        let json = serde_json::to_string(&Content::from("a")).unwrap();
        assert_eq!(json, r#"{"text":"a"}"#);
    }
}
