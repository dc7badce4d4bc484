//! What must not be shown, although a finding stands on the same line.

use std::ops::Range;

use crate::node::{Data, Entry, Node};
use crate::suggest::distance;

/// Names that hold secrets, and how far a misspelt one may be off.
const NAMES: [&str; 2] = ["password", "passphrase"];
const PARTS: [&str; 6] = ["passw", "passp", "pwd", "secret", "token", "credential"];
/// The fields of a reference: where a secret is, not what it is.
const REFERENCE: [&str; 3] = ["file", "env", "prompt"];
/// The field beside a secret that says whose it is.
const OWNER: &str = "user";

/// Marks every scalar that may be a secret.
pub(crate) fn mark(root: &mut Node) {
    walk(root, false);
}

fn walk(node: &mut Node, secret: bool) {
    match &mut node.data {
        Data::Scalar(scalar) => {
            let text = &scalar.text;
            scalar.secret = secret || text.contains("PRIVATE KEY") || password_in_url(text);
        }
        Data::List(items) => items.iter_mut().for_each(|item| walk(item, secret)),
        Data::Mapping(entries) => {
            for entry in entries.iter_mut() {
                let reference = is_reference(entry);
                let below_key = entry.key == "key" && matches!(entry.value.data, Data::Mapping(_));
                let secret = (secret && !reference) || is_secret_name(&entry.key) || below_key;
                walk(&mut entry.value, secret);
            }
        }
    }
}

/// Whether a field says where a secret is, or whose. What stands behind `env` and is no
/// name of a variable may be the secret itself.
fn is_reference(entry: &Entry) -> bool {
    match (entry.key.as_str(), &entry.value.data) {
        ("env", Data::Scalar(scalar)) => is_variable(&scalar.text),
        (key, _) => key == OWNER || REFERENCE.contains(&key),
    }
}

/// Whether a text is the name of an environment variable.
pub(crate) fn is_variable(text: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.chars().all(word) && text.starts_with(|c: char| !c.is_ascii_digit())
}

/// Whether a URL in the text has a password before its host:
/// `http://me:password@proxy`.
fn password_in_url(text: &str) -> bool {
    text.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', '?', '#', ' ']).next().unwrap_or_default();
        authority.contains('@')
    })
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let close = |known: &&str| distance(known, &name) <= 2;
    PARTS.iter().any(|part| name.contains(part)) || NAMES.iter().any(close)
}

/// The bytes of every marked scalar.
pub(crate) fn ranges(node: &Node, into: &mut Vec<Range<usize>>) {
    match &node.data {
        Data::Scalar(scalar) if scalar.secret => into.push(node.range.clone()),
        Data::Scalar(_) => {}
        Data::List(items) => items.iter().for_each(|item| ranges(item, into)),
        Data::Mapping(entries) => entries.iter().for_each(|entry| ranges(&entry.value, into)),
    }
}

/// The same for a text that is no YAML: the rest of a line behind a name that
/// looks like one of a secret, and a private key.
pub(crate) fn ranges_in_lines(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut in_key = false;
    for line in text.split_inclusive('\n') {
        let end = start + line.trim_end().len();
        if line.contains("PRIVATE KEY") {
            in_key = line.contains("BEGIN");
            found.push(start..end);
        } else if in_key || password_in_url(line) {
            found.push(start..end);
        }
        let mut from = 0;
        while let Some(colon) = line.get(from..).and_then(|rest| rest.find(':')) {
            let colon = from + colon;
            let before = line.get(..colon).unwrap_or_default().trim_end_matches('"');
            let word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
            let name = before.rsplit(|c| !word(c)).next().unwrap_or_default();
            if is_secret_name(name) {
                found.push((start + colon + 1).min(end)..end);
                break;
            }
            from = colon + 1;
        }
        start += line.len();
    }
    found
}

/// The text with those bytes blanked out: same length, same lines.
pub(crate) fn blanked(text: &str, ranges: &[Range<usize>]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for range in ranges {
        for byte in bytes.get_mut(range.clone()).into_iter().flatten() {
            if !byte.is_ascii_whitespace() {
                *byte = b'*';
            }
        }
    }
    // Ranges lie on character borders, so whole characters were replaced.
    String::from_utf8(bytes).unwrap_or_default()
}
