//! `secretFile`: a file with secrets in its text, for administrators only.
//!
//! The document names the secrets and never holds them. Whether the file is right
//! is told without them: the agent notes the hash of what it wrote, in its own
//! state folder, and each secret has a short fingerprint that changes with it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::diff::compare_access;
use crate::{Access, AccessFacts, Change, Diff, HostPath, Secret, SecretName, Sha256};

/// A part of the text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum TextPart {
    /// As it stands here.
    Plain(String),
    /// A secret in double quotes, as JSON and TOML write text.
    Quoted(SecretName),
    /// A secret as a part of a URL: all but letters, digits and `-._~` as `%xx`.
    InUrl(SecretName),
}

impl TextPart {
    /// The secret in it.
    #[must_use]
    pub fn secret(&self) -> Option<&SecretName> {
        match self {
            Self::Plain(_) => None,
            Self::Quoted(name) | Self::InUrl(name) => Some(name),
        }
    }
}

/// A file that should exist; parents are made as needed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecretFile {
    /// Where.
    pub path: HostPath,
    /// What it holds, one part after the other.
    pub text: Vec<TextPart>,
    /// The fingerprints of its secrets ([`Secret::fingerprint`]).
    pub fingerprints: BTreeMap<SecretName, String>,
}

/// What the agent notes of a file that it wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecretFileNote {
    /// The hash of its text with the names of its secrets.
    pub text: Sha256,
    /// The fingerprints of its secrets.
    pub fingerprints: BTreeMap<SecretName, String>,
    /// The hash of what was written.
    pub written: Sha256,
}

/// A file as found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretFileFacts {
    /// Nothing has this name.
    Absent,
    /// Something that is no plain file has this name.
    InTheWay,
    /// It exists.
    Present {
        /// The hash of its bytes.
        sha256: Sha256,
        /// Who may use it.
        access: AccessFacts,
        /// What was noted when it was written; none for a file of somebody else's.
        note: Option<SecretFileNote>,
    },
}

impl SecretFile {
    /// Who may use it.
    pub const ACCESS: Access = Access::AdministratorsOnly;

    /// The secrets in it, each once.
    #[must_use]
    pub fn secrets(&self) -> Vec<SecretName> {
        let mut names: Vec<_> = self.text.iter().filter_map(TextPart::secret).collect();
        names.sort();
        names.dedup();
        names.into_iter().cloned().collect()
    }

    /// The text with the secrets in it; none if one is missing.
    #[must_use]
    pub fn filled(&self, secrets: &BTreeMap<SecretName, Secret>) -> Option<Secret> {
        let mut text = String::new();
        for part in &self.text {
            match part {
                TextPart::Plain(plain) => text.push_str(plain),
                TextPart::Quoted(name) => quote(&mut text, secrets.get(name)?.expose()),
                TextPart::InUrl(name) => text.push_str(&in_url(secrets.get(name)?.expose())),
            }
        }
        Some(Secret::new(text))
    }

    /// What is noted once this was written.
    #[must_use]
    pub fn note(&self, written: Sha256) -> SecretFileNote {
        SecretFileNote {
            text: self.hash(),
            fingerprints: self.fingerprints.clone(),
            written,
        }
    }

    fn hash(&self) -> Sha256 {
        // Plain text and names always have a JSON form.
        Sha256::of(&serde_json::to_vec(&self.text).unwrap_or_default())
    }

    /// What is to change. No value is shown, and no hash of one.
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
                return Diff::Changes(vec![Change::field("exists", "no plain file", "a file")]);
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
                let (before, after) = ("changed since it was written", "as it was written");
                changes.push(Change::field("content", before, after));
            }
            Some(note) if note.text != self.hash() => {
                changes.push(Change::field("content", "an earlier text", "this one"));
            }
            Some(note) => self.compare_secrets(&mut changes, note),
            None => changes.push(Change::field("content", "somebody else's", "casement's")),
        }
        compare_access(&mut changes, Self::ACCESS, access);
        Diff::from_changes(changes, || "as it was written".to_owned())
    }

    fn compare_secrets(&self, changes: &mut Vec<Change>, note: &SecretFileNote) {
        for (name, fingerprint) in &self.fingerprints {
            if note.fingerprints.get(name) != Some(fingerprint) {
                changes.push(Change::field(
                    name.as_str(),
                    "an earlier value",
                    "another value",
                ));
            }
        }
    }
}

/// JSON's escapes are among those of TOML.
fn quote(text: &mut String, value: &str) {
    text.push_str(&serde_json::Value::from(value).to_string());
}

/// A text as a part of a URL.
#[must_use]
pub fn in_url(text: &str) -> String {
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

    fn present(sha256: Sha256, note: Option<SecretFileNote>) -> SecretFileFacts {
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
    fn secrets_are_written_as_their_place_wants_them() {
        let text = file().filled(&given()).unwrap();
        assert_eq!(text.expose(), "password = \"p\\\"\\\\a: s/ä\"");
        let in_url = SecretFile {
            text: vec![TextPart::InUrl(name())],
            ..file()
        };
        let text = in_url.filled(&given()).unwrap();
        assert_eq!(text.expose(), "p%22%5Ca%3A%20s%2F%C3%A4");
        assert!(file().filled(&BTreeMap::new()).is_none());
    }

    #[test]
    fn a_file_is_right_only_as_it_was_written() {
        let (file, written) = (file(), Sha256::of(b"x"));
        let note = Some(file.note(written));
        assert!(file.diff(&present(written, note.clone())).is_right());
        let touched = file.diff(&present(Sha256::of(b"y"), note.clone()));
        assert!(!touched.is_right());
        assert!(!file.diff(&present(written, None)).is_right());
        let mut longer = file.clone();
        longer.text.push(TextPart::Plain("\n".to_owned()));
        assert!(!longer.diff(&present(written, note.clone())).is_right());
        let mut rotated = file.clone();
        let other = Secret::new("other".to_owned()).fingerprint("shop");
        rotated.fingerprints.insert(name(), other);
        assert!(!rotated.diff(&present(written, note)).is_right());
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
