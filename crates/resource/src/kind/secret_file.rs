//! `secretFile`: a file whose text contains secrets, for administrators only.
//!
//! The document names the secrets and never contains them. Drift is detected without
//! them: the agent records the hash of what it wrote in its state folder, and each
//! secret has a short fingerprint that changes with it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::diff::compare_access;
use crate::{Access, AccessFacts, Change, Diff, HostPath, Secret, SecretName, Sha256};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum TextPart {
    /// Literal text.
    Plain(String),
    /// A secret in double quotes, escaped for JSON and TOML.
    Quoted(SecretName),
    /// A percent-encoded secret in a URL: all but letters, digits and `-._~`.
    InUrl(SecretName),
}

impl TextPart {
    /// The secret's name, if any.
    #[must_use]
    pub fn secret(&self) -> Option<&SecretName> {
        match self {
            Self::Plain(_) => None,
            Self::Quoted(name) | Self::InUrl(name) => Some(name),
        }
    }
}

/// Missing parent folders are created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecretFile {
    pub path: HostPath,
    /// The content, in order.
    pub text: Vec<TextPart>,
    /// The fingerprints of its secrets ([`Secret::fingerprint`]).
    pub fingerprints: BTreeMap<SecretName, String>,
}

/// What the agent records about a file that it wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecretFileRecord {
    /// The hash of its text with the names of its secrets.
    pub text: Sha256,
    /// The fingerprints of its secrets.
    pub fingerprints: BTreeMap<SecretName, String>,
    /// The hash of what was written.
    pub written: Sha256,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretFileFacts {
    /// The path does not exist.
    Absent,
    /// The path exists, but is not a regular file.
    InTheWay,
    Present {
        /// The hash of its bytes.
        sha256: Sha256,
        access: AccessFacts,
        /// The record of the last write; none for a foreign file.
        note: Option<SecretFileRecord>,
    },
}

impl SecretFile {
    pub const ACCESS: Access = Access::AdministratorsOnly;

    /// Unique secret names.
    #[must_use]
    pub fn secrets(&self) -> Vec<SecretName> {
        let mut names: Vec<_> = self.text.iter().filter_map(TextPart::secret).collect();
        names.sort();
        names.dedup();
        names.into_iter().cloned().collect()
    }

    /// The text with its secrets; none if one is missing.
    #[must_use]
    pub fn render(&self, secrets: &BTreeMap<SecretName, Secret>) -> Option<Secret> {
        let mut text = String::new();
        for part in &self.text {
            match part {
                TextPart::Plain(plain) => text.push_str(plain),
                TextPart::Quoted(name) => quote(&mut text, secrets.get(name)?.expose()),
                TextPart::InUrl(name) => {
                    text.push_str(&percent_encode(secrets.get(name)?.expose()))
                }
            }
        }
        Some(Secret::new(text))
    }

    /// The record to keep after writing the file.
    #[must_use]
    pub fn note(&self, written: Sha256) -> SecretFileRecord {
        SecretFileRecord {
            text: self.hash(),
            fingerprints: self.fingerprints.clone(),
            written,
        }
    }

    fn hash(&self) -> Sha256 {
        // Text and names can always be encoded as JSON.
        Sha256::of(&serde_json::to_vec(&self.text).unwrap_or_default())
    }

    /// Shows neither secrets nor their hashes.
    #[must_use]
    pub fn diff(&self, facts: &SecretFileFacts) -> Diff {
        let (sha256, access, note) = match facts {
            SecretFileFacts::Absent => {
                let names = self.secrets();
                let names: Vec<_> = names.iter().map(SecretName::as_str).collect();
                let wanted = format!("text with {}", names.join(", "));
                return Diff::Changes(vec![Change::missing("content", wanted)]);
            }
            SecretFileFacts::InTheWay => {
                return Diff::Changes(vec![Change::field("type", "not a regular file", "file")]);
            }
            SecretFileFacts::Present {
                sha256,
                access,
                note,
            } => (sha256, access, note),
        };
        let mut changes = Vec::new();
        match note {
            Some(note) if note.written != *sha256 => {
                let (before, after) =
                    ("modified since casement wrote it", "as written by casement");
                changes.push(Change::field("content", before, after));
            }
            Some(note) if note.text != self.hash() => {
                changes.push(Change::field("content", "an older version", "this version"));
            }
            Some(note) => self.compare_secrets(&mut changes, note),
            None => changes.push(Change::field(
                "content",
                "not written by casement",
                "written by casement",
            )),
        }
        compare_access(&mut changes, Self::ACCESS, access);
        Diff::from_changes(changes, || "unmodified since casement wrote it".to_owned())
    }

    fn compare_secrets(&self, changes: &mut Vec<Change>, note: &SecretFileRecord) {
        for (name, fingerprint) in &self.fingerprints {
            if note.fingerprints.get(name) != Some(fingerprint) {
                changes.push(Change::field(
                    name.as_str(),
                    "an older value",
                    "a new value",
                ));
            }
        }
    }
}

/// JSON's escapes are valid in TOML.
fn quote(text: &mut String, value: &str) {
    text.push_str(&serde_json::Value::from(value).to_string());
}

/// Encodes all but letters, digits and `-._~`.
#[must_use]
pub fn percent_encode(text: &str) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        match byte {
            b'-' | b'.' | b'_' | b'~' => escaped.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => escaped.push(char::from(byte)),
            byte => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWORD: &str = "p\"\\a: s/ä";

    fn name() -> SecretName {
        "registry-password".parse().unwrap()
    }

    fn file() -> SecretFile {
        let secret = Secret::new(PASSWORD.to_owned());
        SecretFile {
            path: "/etc/x".parse().unwrap(),
            text: vec![
                TextPart::Plain("password = ".to_owned()),
                TextPart::Quoted(name()),
            ],
            fingerprints: BTreeMap::from([(name(), secret.fingerprint("shop"))]),
        }
    }

    fn given() -> BTreeMap<SecretName, Secret> {
        BTreeMap::from([(name(), Secret::new(PASSWORD.to_owned()))])
    }

    fn present(sha256: Sha256, note: Option<SecretFileRecord>) -> SecretFileFacts {
        SecretFileFacts::Present {
            sha256,
            access: AccessFacts {
                administrators_only: true,
                owner_trusted: true,
                descriptor: "0600 0:0".to_owned(),
            },
            note,
        }
    }

    #[test]
    fn secrets_are_escaped_for_their_context() {
        let text = file().render(&given()).unwrap();
        assert_eq!(text.expose(), "password = \"p\\\"\\\\a: s/ä\"");
        let in_url = SecretFile {
            text: vec![TextPart::InUrl(name())],
            ..file()
        };
        let text = in_url.render(&given()).unwrap();
        assert_eq!(text.expose(), "p%22%5Ca%3A%20s%2F%C3%A4");
        assert!(file().render(&BTreeMap::new()).is_none());
    }

    #[test]
    fn a_file_is_in_sync_only_if_unmodified() {
        let (file, written) = (file(), Sha256::of(b"x"));
        let note = Some(file.note(written));
        assert!(file.diff(&present(written, note.clone())).in_sync());
        let touched = file.diff(&present(Sha256::of(b"y"), note.clone()));
        assert!(!touched.in_sync());
        assert!(!file.diff(&present(written, None)).in_sync());
        let mut longer = file.clone();
        longer.text.push(TextPart::Plain("\n".to_owned()));
        assert!(!longer.diff(&present(written, note.clone())).in_sync());
        let mut rotated = file.clone();
        let other = Secret::new("other".to_owned()).fingerprint("shop");
        rotated.fingerprints.insert(name(), other);
        assert!(!rotated.diff(&present(written, note)).in_sync());
    }

    #[test]
    fn neither_a_document_nor_a_diff_shows_a_secret() {
        let file = file();
        let document = serde_json::to_string(&file).unwrap();
        let diff = format!("{:?}", file.diff(&SecretFileFacts::Absent));
        let whole = Sha256::of(PASSWORD.as_bytes()).to_string();
        for text in [document, diff] {
            assert!(!text.contains("p\\\"") && !text.contains(&whole), "{text}");
        }
    }
}
