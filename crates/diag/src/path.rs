//! Paths of values in a document, independent of its text.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    Field(String),
    Index(usize),
}

/// The path of a value in a document, such as `spec.hosts[2].roles`.
///
/// The empty path is the document itself. Field names with special characters are
/// quoted: `labels["kubernetes.io/os"]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct FieldPath(Vec<Segment>);

impl FieldPath {
    pub fn root() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn field(&self, name: impl Into<String>) -> Self {
        self.with(Segment::Field(name.into()))
    }

    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.with(Segment::Index(index))
    }

    fn with(&self, segment: Segment) -> Self {
        let mut path = self.clone();
        path.0.push(segment);
        path
    }

    /// `None` for the document itself.
    pub fn parent(&self) -> Option<Self> {
        let (_, front) = self.0.split_last()?;
        Some(Self(front.to_vec()))
    }

    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    pub fn last_field(&self) -> Option<&str> {
        self.0.iter().rev().find_map(|segment| match segment {
            Segment::Field(name) => Some(name.as_str()),
            Segment::Index(_) => None,
        })
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Field(name) if is_word(name) => {
                    write!(f, "{}{name}", if at == 0 { "" } else { "." })?;
                }
                Segment::Field(name) => {
                    write!(
                        f,
                        "[\"{}\"]",
                        name.replace('\\', "\\\\").replace('"', "\\\"")
                    )?;
                }
            }
        }
        Ok(())
    }
}

fn is_word(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a valid field path (example: `spec.hosts[2].roles`)")]
pub struct PathError(String);

impl FromStr for FieldPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        let wrong = || PathError(text.to_owned());
        let mut path = Self::root();
        let mut rest = text;
        while !rest.is_empty() {
            let (segment, after) = if let Some(bracket) = rest.strip_prefix('[') {
                bracketed(bracket).ok_or_else(wrong)?
            } else {
                let word = match rest.strip_prefix('.') {
                    Some(word) if !path.is_root() => word,
                    None if path.is_root() => rest,
                    _ => return Err(wrong()),
                };
                let (name, after) = word.split_at(word.find(['.', '[']).unwrap_or(word.len()));
                if !is_word(name) {
                    return Err(wrong());
                }
                (Segment::Field(name.to_owned()), after)
            };
            path.0.push(segment);
            rest = after;
        }
        Ok(path)
    }
}

fn bracketed(text: &str) -> Option<(Segment, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let (number, after) = text.split_once(']')?;
        return Some((Segment::Index(number.parse().ok()?), after));
    };
    let mut name = String::new();
    let mut chars = quoted.char_indices();
    loop {
        match chars.next()? {
            (_, '\\') => name.push(chars.next()?.1),
            (at, '"') => {
                let after = quoted.get(at + 1..)?.strip_prefix(']')?;
                return Some((Segment::Field(name), after));
            }
            (_, other) => name.push(other),
        }
    }
}

impl From<FieldPath> for String {
    fn from(path: FieldPath) -> Self {
        path.to_string()
    }
}

impl TryFrom<String> for FieldPath {
    type Error = PathError;

    fn try_from(text: String) -> Result<Self, PathError> {
        text.parse()
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Part {
    #[default]
    Value,
    Key,
    /// A byte range, for places without a path such as a syntax error or the second
    /// of two duplicate keys.
    Bytes(Range<usize>),
}

impl Part {
    pub fn is_value(&self) -> bool {
        *self == Self::Value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_round_trip() {
        let labels = FieldPath::root().field("spec").field("hosts").index(2);
        for path in [
            FieldPath::root(),
            labels.field("roles").index(0),
            labels.field("labels").field("kubernetes.io/os"),
            labels.field("a \"quoted\\\" name").field(""),
            FieldPath::root().field("a.b").field("c"),
        ] {
            assert_eq!(path.to_string().parse(), Ok(path));
        }
        assert_eq!(labels.to_string(), "spec.hosts[2]");
    }

    #[test]
    fn invalid_paths_are_rejected() {
        for text in [
            ".", "a.", ".a", "a..b", "a[", "a[x]", "a[\"b", "a[\"b\"", "a b",
        ] {
            assert!(text.parse::<FieldPath>().is_err(), "{text}");
        }
    }
}
