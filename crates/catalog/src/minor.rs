//! Minor releases of Kubernetes.

use std::fmt;
use std::str::FromStr;

use semver::Version;
use serde::{Serialize, Serializer};

/// A minor release of Kubernetes 1, such as 1.36.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Minor(u16);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a valid Kubernetes minor release (example: 1.36)")]
pub struct InvalidMinor(pub String);

impl Minor {
    pub const OLDEST: Self = Self(21);
    pub const NEWEST: Self = Self(36);

    pub const fn new(number: u16) -> Self {
        Self(number)
    }

    pub const fn number(self) -> u16 {
        self.0
    }

    pub fn of(version: &Version) -> Option<Self> {
        let number = u16::try_from(version.minor).ok()?;
        (version.major == 1).then_some(Self(number))
    }

    pub fn covered() -> impl Iterator<Item = Self> {
        (Self::OLDEST.0..=Self::NEWEST.0).map(Self)
    }

    pub const fn before(self, count: u16) -> Self {
        Self(self.0.saturating_sub(count))
    }

    pub const fn after(self, count: u16) -> Self {
        Self(self.0.saturating_add(count))
    }
}

impl fmt::Display for Minor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.0)
    }
}

impl FromStr for Minor {
    type Err = InvalidMinor;

    fn from_str(text: &str) -> Result<Self, InvalidMinor> {
        let mut numbers = text.strip_prefix('v').unwrap_or(text).split('.');
        let minor = match (numbers.next(), numbers.next()) {
            (Some("1"), Some(minor)) => minor.parse().ok(),
            _ => None,
        };
        minor.map(Self).ok_or_else(|| InvalidMinor(text.to_owned()))
    }
}

impl Serialize for Minor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A range of minor releases, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Minors {
    pub from: Minor,
    /// `None`: open.
    pub to: Option<Minor>,
}

impl Minors {
    pub const fn new(from: u16, to: u16) -> Self {
        Self {
            from: Minor(from),
            to: Some(Minor(to)),
        }
    }

    pub const fn since(from: u16) -> Self {
        Self {
            from: Minor(from),
            to: None,
        }
    }

    pub fn contains(&self, minor: Minor) -> bool {
        minor >= self.from && self.to.is_none_or(|to| minor <= to)
    }
}

impl fmt::Display for Minors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to {
            Some(to) if to == self.from => write!(f, "{to}"),
            Some(to) => write!(f, "{}-{to}", self.from),
            None => write!(f, "{}+", self.from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_versions_and_minor_releases() {
        assert_eq!("1.36".parse(), Ok(Minor::new(36)));
        assert_eq!("v1.9.3".parse(), Ok(Minor::new(9)));
        for wrong in ["2.1", "1", "1.x", "", "latest"] {
            assert_eq!(wrong.parse::<Minor>(), Err(InvalidMinor(wrong.to_owned())));
        }
        assert_eq!(Minor::of(&Version::new(1, 36, 4)), Some(Minor::new(36)));
        assert_eq!(Minor::of(&Version::new(2, 0, 0)), None);
    }

    #[test]
    fn range_includes_both_ends() {
        let span = Minors::new(24, 34);
        let inside = |number| span.contains(Minor::new(number));
        assert_eq!(
            [23, 24, 34, 35].map(inside),
            [false, true, true, false],
            "{span}"
        );
        assert!(Minors::since(35).contains(Minor::new(99)));
        assert_eq!(Minors::new(36, 36).to_string(), "1.36");
        assert_eq!(Minors::since(35).to_string(), "1.35+");
    }
}
