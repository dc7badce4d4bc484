//! The parsed document as a tree with byte ranges.

use std::collections::BTreeMap;
use std::ops::Range;

#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// Empty, at the end of the key, for a missing value.
    pub(crate) range: Range<usize>,
    pub(crate) data: Data,
}

#[derive(Debug, Clone)]
pub(crate) enum Data {
    Scalar(Scalar),
    List(Vec<Node>),
    Mapping(Entries),
}

/// Larger mappings get an index.
const INDEX_THRESHOLD: usize = 16;

/// The fields of a mapping in file order, without duplicate keys.
#[derive(Debug, Clone, Default)]
pub(crate) struct Entries {
    list: Vec<Entry>,
    /// Position of each key; empty for small mappings. A linear search would be
    /// quadratic on hostile input.
    index: BTreeMap<String, usize>,
}

impl Entries {
    /// Returns the entry if its key exists already.
    pub(crate) fn push(&mut self, entry: Entry) -> Option<Entry> {
        if self.get(&entry.key).is_some() {
            return Some(entry);
        }
        let position = self.list.len();
        if !self.index.is_empty() {
            self.index.insert(entry.key.clone(), position);
        }
        self.list.push(entry);
        if self.index.is_empty() && self.list.len() > INDEX_THRESHOLD {
            let names = self.list.iter().map(|entry| entry.key.clone());
            self.index = names.zip(0..).collect();
        }
        None
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Entry> {
        if self.index.is_empty() {
            return self.list.iter().find(|entry| entry.key == name);
        }
        self.list.get(*self.index.get(name)?)
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Entry> {
        self.list.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, Entry> {
        self.list.iter_mut()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// An untyped scalar: the field decides how to interpret it, not YAML.
#[derive(Debug, Clone)]
pub(crate) struct Scalar {
    pub(crate) text: String,
    /// Written without quotes.
    pub(crate) plain: bool,
    /// Never shown in messages.
    pub(crate) secret: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_range: Range<usize>,
    pub(crate) value: Node,
}

/// A user-defined name, truncated for a message.
pub(crate) fn clipped(name: &str) -> String {
    match name.char_indices().nth(SHORT) {
        Some((end, _)) => format!("{}…", name.get(..end).unwrap_or_default()),
        None => name.to_owned(),
    }
}

/// Maximum number of characters of a value in a message.
const SHORT: usize = 60;

fn is_short(text: &str) -> bool {
    text.chars().nth(SHORT).is_none() && !text.contains(char::is_control)
}

impl Node {
    /// Missing, `~` or `null`.
    pub(crate) fn is_null(&self) -> bool {
        match &self.data {
            Data::Scalar(scalar) => {
                scalar.plain && matches!(scalar.text.as_str(), "" | "~" | "null")
            }
            Data::List(_) | Data::Mapping(_) => false,
        }
    }

    pub(crate) fn is_secret(&self) -> bool {
        matches!(&self.data, Data::Scalar(scalar) if scalar.secret)
    }

    /// For messages such as "must be a list, not …".
    pub(crate) fn described(&self) -> String {
        match &self.data {
            Data::Scalar(_) if self.is_null() => "an empty value".to_owned(),
            Data::Scalar(scalar) if scalar.secret => "a string".to_owned(),
            Data::Scalar(scalar) if is_short(&scalar.text) => format!("`{}`", scalar.text),
            Data::Scalar(_) => "a long string".to_owned(),
            Data::List(_) => "a list".to_owned(),
            Data::Mapping(_) => "a mapping".to_owned(),
        }
    }

    /// The value, if it is short and not secret.
    pub(crate) fn short(&self) -> Option<&str> {
        match &self.data {
            Data::Scalar(scalar) if !scalar.secret && !self.is_null() => {
                is_short(&scalar.text).then_some(scalar.text.as_str())
            }
            _ => None,
        }
    }
}
