//! Values that exist only when a node has joined.

use std::fmt;

use serde::{Serialize, Serializer};

/// A value, or the knowledge that it comes later.
///
/// A node's pod network is given by the control plane. A document that is shown
/// before that says so at the place of the value, instead of a guess.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Late<T> {
    /// It is known.
    Known(T),
    /// The control plane decides it when the node joins.
    AfterJoin,
}

impl<T> Late<T> {
    /// What stands where the value will be.
    pub const WORDS: &'static str = "known after join";

    /// The value, if it is known.
    pub fn known(self) -> Option<T> {
        match self {
            Self::Known(value) => Some(value),
            Self::AfterJoin => None,
        }
    }

    /// What follows from the value.
    pub fn map<U>(self, follow: impl FnOnce(T) -> U) -> Late<U> {
        match self {
            Self::Known(value) => Late::Known(follow(value)),
            Self::AfterJoin => Late::AfterJoin,
        }
    }
}

impl<T> From<Option<T>> for Late<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::AfterJoin, Self::Known)
    }
}

impl<T: fmt::Display> fmt::Display for Late<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(value) => value.fmt(formatter),
            Self::AfterJoin => formatter.write_str(Self::WORDS),
        }
    }
}

impl<T: Serialize> Serialize for Late<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Known(value) => value.serialize(serializer),
            Self::AfterJoin => serializer.serialize_str(Self::WORDS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_says_so_in_the_document() {
        let written = |value: Late<u8>| serde_json::to_string(&value).unwrap();
        assert_eq!(written(Late::Known(7)), "7");
        assert_eq!(written(Late::AfterJoin), "\"known after join\"");
        assert_eq!(Late::Known(7).map(|n| n + 1).to_string(), "8");
        assert_eq!(Late::<u8>::from(None).known(), None);
    }
}
