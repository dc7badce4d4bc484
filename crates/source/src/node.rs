//! The text as a tree, each part with its place.

use std::collections::BTreeMap;
use std::ops::Range;

/// A value and its bytes in the text.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// Empty, and at the end of the key, where nothing stands.
    pub(crate) range: Range<usize>,
    pub(crate) data: Data,
}

/// What a value is.
#[derive(Debug, Clone)]
pub(crate) enum Data {
    Scalar(Scalar),
    List(Vec<Node>),
    Mapping(Entries),
}

/// More fields than this are found by an index.
const FEW: usize = 16;

/// The fields of a mapping, in the order of the text; no name is there twice.
#[derive(Debug, Clone, Default)]
pub(crate) struct Entries {
    list: Vec<Entry>,
    /// Where each name stands, if there are many; otherwise empty. To look
    /// through the list for each would be slow on hostile input.
    places: BTreeMap<String, usize>,
}

impl Entries {
    /// Gives the field back if one of that name is there already.
    pub(crate) fn push(&mut self, entry: Entry) -> Option<Entry> {
        if self.get(&entry.key).is_some() {
            return Some(entry);
        }
        let place = self.list.len();
        if !self.places.is_empty() {
            self.places.insert(entry.key.clone(), place);
        }
        self.list.push(entry);
        if self.places.is_empty() && self.list.len() > FEW {
            let names = self.list.iter().map(|entry| entry.key.clone());
            self.places = names.zip(0..).collect();
        }
        None
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Entry> {
        if self.places.is_empty() {
            return self.list.iter().find(|entry| entry.key == name);
        }
        self.list.get(*self.places.get(name)?)
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

/// A single value. YAML's types are not applied: each field knows what it wants.
#[derive(Debug, Clone)]
pub(crate) struct Scalar {
    pub(crate) text: String,
    /// Whether it was written without quotes.
    pub(crate) plain: bool,
    /// Whether it must not be shown.
    pub(crate) secret: bool,
}

/// A field of a mapping.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_range: Range<usize>,
    pub(crate) value: Node,
}

/// A name of the user's own, for a message.
pub(crate) fn clipped(name: &str) -> String {
    match name.char_indices().nth(SHORT) {
        Some((end, _)) => format!("{}…", name.get(..end).unwrap_or_default()),
        None => name.to_owned(),
    }
}

/// The most characters that a message repeats.
const SHORT: usize = 60;

fn is_short(text: &str) -> bool {
    text.chars().nth(SHORT).is_none() && !text.contains(char::is_control)
}

impl Node {
    /// Whether nothing is there, or YAML's word for it.
    pub(crate) fn is_nothing(&self) -> bool {
        match &self.data {
            Data::Scalar(scalar) => {
                scalar.plain && matches!(scalar.text.as_str(), "" | "~" | "null")
            }
            Data::List(_) | Data::Mapping(_) => false,
        }
    }

    /// Whether it must not be shown.
    pub(crate) fn is_secret(&self) -> bool {
        matches!(&self.data, Data::Scalar(scalar) if scalar.secret)
    }

    /// What it is, for a sentence such as "must be a list, not …".
    pub(crate) fn described(&self) -> String {
        match &self.data {
            Data::Scalar(_) if self.is_nothing() => "nothing".to_owned(),
            Data::Scalar(scalar) if scalar.secret => "a text".to_owned(),
            Data::Scalar(scalar) if is_short(&scalar.text) => format!("`{}`", scalar.text),
            Data::Scalar(_) => "a long text".to_owned(),
            Data::List(_) => "a list".to_owned(),
            Data::Mapping(_) => "a mapping".to_owned(),
        }
    }

    /// The value, where it is a short one that may be shown.
    pub(crate) fn short(&self) -> Option<&str> {
        match &self.data {
            Data::Scalar(scalar) if !scalar.secret && !self.is_nothing() => {
                is_short(&scalar.text).then_some(scalar.text.as_str())
            }
            _ => None,
        }
    }
}
