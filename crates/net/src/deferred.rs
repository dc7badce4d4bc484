//! Values that are not known when a document is shown.

use std::fmt;

use serde::{Serialize, Serializer};

/// A value that may not be known yet.
///
/// The control plane assigns the pod network of a node when it joins, and only the host
/// knows the name of its adapter. Documents shown before that contain a placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deferred<T> {
    Known(T),
    AfterJoin,
    /// The agent finds it on the host.
    OnHost,
}

impl<T> Deferred<T> {
    pub const AFTER_JOIN: &'static str = "known after join";
    pub const ON_HOST: &'static str = "known on the host";

    /// The value, or the text shown in its place.
    fn shown(&self) -> Result<&T, &'static str> {
        match self {
            Self::Known(value) => Ok(value),
            Self::AfterJoin => Err(Self::AFTER_JOIN),
            Self::OnHost => Err(Self::ON_HOST),
        }
    }

    pub fn known(self) -> Option<T> {
        match self {
            Self::Known(value) => Some(value),
            Self::AfterJoin | Self::OnHost => None,
        }
    }

    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Deferred<U> {
        match self {
            Self::Known(value) => Deferred::Known(f(value)),
            Self::AfterJoin => Deferred::AfterJoin,
            Self::OnHost => Deferred::OnHost,
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
        match self.shown() {
            Ok(value) => value.fmt(formatter),
            Err(placeholder) => formatter.write_str(placeholder),
        }
    }
}

impl<T: Serialize> Serialize for Deferred<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.shown() {
            Ok(value) => value.serialize(serializer),
            Err(placeholder) => serializer.serialize_str(placeholder),
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
        assert_eq!(json(Deferred::OnHost), "\"known on the host\"");
        assert_eq!(Deferred::Known(7).map(|n| n + 1).to_string(), "8");
        assert_eq!(Deferred::<u8>::from(None).known(), None);
    }
}
