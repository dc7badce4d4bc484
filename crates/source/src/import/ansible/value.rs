//! Values of variables.

use std::fmt;

/// A Python value as used in inventories.
#[derive(Clone, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    /// A list or tuple.
    List(Vec<Value>),
    /// A dictionary in order, without duplicate keys.
    Map(Vec<(String, Value)>),
    /// Encrypted with a vault password.
    Vault,
}

impl Value {
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A scalar as a string, including numbers: `kube_network_node_prefix=24` is a
    /// number and `10.0.0.1` is not.
    pub fn scalar(&self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text.clone()),
            Self::Int(number) => Some(number.to_string()),
            Self::Float(number) => Some(number.to_string()),
            Self::Bool(true) => Some("true".to_owned()),
            Self::Bool(false) => Some("false".to_owned()),
            Self::Null | Self::List(_) | Self::Map(_) | Self::Vault => None,
        }
    }

    /// Whether it contains a template, which only Ansible can evaluate.
    pub fn is_template(&self) -> bool {
        match self {
            Self::Text(text) => text.contains("{{") || text.contains("{%"),
            Self::List(items) => items.iter().any(Self::is_template),
            Self::Map(pairs) => pairs.iter().any(|(_, value)| value.is_template()),
            _ => false,
        }
    }

    /// Inserts like Python: the last value wins, at the position of the first.
    pub(crate) fn insert(pairs: &mut Vec<(String, Value)>, key: String, value: Value) {
        match pairs.iter_mut().find(|(known, _)| *known == key) {
            Some((_, old)) => *old = value,
            None => pairs.push((key, value)),
        }
    }
}

/// The type only: the value may be a password.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Int(_) | Self::Float(_) => "a number",
            Self::Text(_) => "a string",
            Self::List(_) => "a list",
            Self::Map(_) => "a mapping",
            Self::Vault => "a vault value",
        })
    }
}
