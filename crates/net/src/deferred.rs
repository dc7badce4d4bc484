//! Values that are not known before a node has joined.

use std::fmt;

use serde::{Serialize, Serializer};

/// A value that may not be known before the node has joined.
///
/// The control plane assigns the pod network of a node. Documents shown before that
/// contain a placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deferred<T> {
    Known(T),
    AfterJoin,
}

impl<T> Deferred<T> {
    pub const PLACEHOLDER: &'static str = "known after join";

    pub fn known(self) -> Option<T> {
        match self {
            Self::Known(value) => Some(value),
            Self::AfterJoin => None,
        }
    }

    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Deferred<U> {
        match self {
            Self::Known(value) => Deferred::Known(f(value)),
            Self::AfterJoin => Deferred::AfterJoin,
        }
    }
}

impl<T> From<Option<T>> for Deferred<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::AfterJoin, Self::Known)
    }
}

impl<T: fmt::Display> fmt::Display for Deferred<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(value) => value.fmt(formatter),
            Self::AfterJoin => formatter.write_str(Self::PLACEHOLDER),
        }
    }
}

impl<T: Serialize> Serialize for Deferred<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Known(value) => value.serialize(serializer),
            Self::AfterJoin => serializer.serialize_str(Self::PLACEHOLDER),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_value_has_a_placeholder() {
        let json = |value: Deferred<u8>| serde_json::to_string(&value).unwrap();
        assert_eq!(json(Deferred::Known(7)), "7");
        assert_eq!(json(Deferred::AfterJoin), "\"known after join\"");
        assert_eq!(Deferred::Known(7).map(|n| n + 1).to_string(), "8");
        assert_eq!(Deferred::<u8>::from(None).known(), None);
    }
}
