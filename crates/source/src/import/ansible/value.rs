//! What a variable holds.

use std::fmt;

/// A value of Python's, as far as inventories have them.
#[derive(Clone, PartialEq)]
pub enum Value {
    /// `None`.
    Null,
    /// `True` or `False`.
    Bool(bool),
    /// A whole number.
    Int(i128),
    /// Another number.
    Float(f64),
    /// A text.
    Text(String),
    /// A list; tuples count as such.
    List(Vec<Value>),
    /// A dictionary, in its order; no name twice.
    Map(Vec<(String, Value)>),
    /// Encrypted with a vault password.
    Vault,
}

impl Value {
    /// The text, where it is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A single value as a person would write it: numbers too, because
    /// `kube_network_node_prefix=24` is a number and `10.0.0.1` is not.
    pub fn word(&self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text.clone()),
            Self::Int(number) => Some(number.to_string()),
            Self::Float(number) => Some(number.to_string()),
            Self::Bool(true) => Some("true".to_owned()),
            Self::Bool(false) => Some("false".to_owned()),
            Self::Null | Self::List(_) | Self::Map(_) | Self::Vault => None,
        }
    }

    /// Whether a template stands anywhere in it: only Ansible knows what it
    /// comes to.
    pub fn is_template(&self) -> bool {
        match self {
            Self::Text(text) => text.contains("{{") || text.contains("{%"),
            Self::List(items) => items.iter().any(Self::is_template),
            Self::Map(pairs) => pairs.iter().any(|(_, value)| value.is_template()),
            _ => false,
        }
    }

    /// Puts a name into a dictionary's pairs as Python does: the last one wins,
    /// at the place of the first.
    pub(crate) fn put(pairs: &mut Vec<(String, Value)>, key: String, value: Value) {
        match pairs.iter_mut().find(|(known, _)| *known == key) {
            Some((_, old)) => *old = value,
            None => pairs.push((key, value)),
        }
    }
}

/// The kind only: what a variable holds may be a password.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "nothing",
            Self::Bool(_) => "a truth value",
            Self::Int(_) | Self::Float(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "a mapping",
            Self::Vault => "a vault value",
        })
    }
}
