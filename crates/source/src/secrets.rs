//! Finds secrets in the text, so that excerpts in diagnostics do not show them.

use std::ops::Range;

use crate::node::{Data, Entry, Node};
use crate::suggest::distance;

/// Field names of secrets; a distance of 2 still matches.
const NAMES: [&str; 2] = ["password", "passphrase"];
const PARTS: [&str; 6] = ["passw", "passp", "pwd", "secret", "token", "credential"];
/// The fields of a reference to a secret.
const REFERENCE: [&str; 3] = ["file", "env", "prompt"];
/// A field next to a secret that is not secret itself.
const OWNER: &str = "user";

/// Marks every scalar that may be a secret.
pub(crate) fn mark(root: &mut Node) {
    mark_nodes(root, false);
}

fn mark_nodes(node: &mut Node, secret: bool) {
    match &mut node.data {
        Data::Scalar(scalar) => {
            let text = &scalar.text;
            scalar.secret = secret || text.contains("PRIVATE KEY") || password_in_url(text);
        }
        Data::List(items) => items.iter_mut().for_each(|item| mark_nodes(item, secret)),
        Data::Mapping(entries) => {
            for entry in entries.iter_mut() {
                let reference = is_reference(entry);
                let below_key = entry.key == "key" && matches!(entry.value.data, Data::Mapping(_));
                let secret = (secret && !reference) || is_secret_name(&entry.key) || below_key;
                mark_nodes(&mut entry.value, secret);
            }
        }
    }
}

/// Whether a field is not secret itself. An invalid name after `env` may be the
/// secret.
fn is_reference(entry: &Entry) -> bool {
    match (entry.key.as_str(), &entry.value.data) {
        ("env", Data::Scalar(scalar)) => is_variable(&scalar.text),
        (key, _) => key == OWNER || REFERENCE.contains(&key),
    }
}

pub(crate) fn is_variable(text: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.chars().all(word) && text.starts_with(|c: char| !c.is_ascii_digit())
}

/// Whether the text has a URL with a password: `http://me:password@proxy`.
fn password_in_url(text: &str) -> bool {
    text.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', '?', '#', ' ']).next().unwrap_or_default();
        authority.contains('@')
    })
}

pub(crate) fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let close = |known: &&str| distance(known, &name) <= 2;
    PARTS.iter().any(|part| name.contains(part)) || NAMES.iter().any(close)
}

/// The byte ranges of all marked scalars.
pub(crate) fn ranges(node: &Node, into: &mut Vec<Range<usize>>) {
    match &node.data {
        Data::Scalar(scalar) if scalar.secret => into.push(node.range.clone()),
        Data::Scalar(_) => {}
        Data::List(items) => items.iter().for_each(|item| ranges(item, into)),
        Data::Mapping(entries) => entries.iter().for_each(|entry| ranges(&entry.value, into)),
    }
}

/// Like [`ranges`], for text that is not valid YAML: the rest of a line after a name
/// that looks secret, and private keys.
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
        // Inventories write `name=value`.
        while let Some(colon) = line.get(from..).and_then(|rest| rest.find([':', '='])) {
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

/// Replaces the ranges with `*`; length and lines stay the same.
pub(crate) fn masked(text: &str, ranges: &[Range<usize>]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for range in ranges {
        for byte in bytes.get_mut(range.clone()).into_iter().flatten() {
            if !byte.is_ascii_whitespace() {
                *byte = b'*';
            }
        }
    }
    // Ranges are on character boundaries.
    String::from_utf8(bytes).unwrap_or_default()
}
