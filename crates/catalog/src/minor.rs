//! Minor releases of Kubernetes, which decide what a program knows.

use std::fmt;
use std::str::FromStr;

use semver::Version;
use serde::{Serialize, Serializer};

/// A minor release of Kubernetes 1, such as 1.36.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Minor(u16);

/// The text names no minor release of Kubernetes 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no minor release of Kubernetes: it takes two numbers, such as 1.36")]
pub struct NoMinor(pub String);

impl Minor {
    /// The oldest release that the tables cover.
    pub const OLDEST: Self = Self(21);
    /// The newest release that the tables cover.
    pub const NEWEST: Self = Self(36);

    /// 1.`number`.
    pub const fn new(number: u16) -> Self {
        Self(number)
    }

    /// The number after `1.`.
    pub const fn number(self) -> u16 {
        self.0
    }

    /// The minor release that a version belongs to.
    pub fn of(version: &Version) -> Option<Self> {
        let number = u16::try_from(version.minor).ok()?;
        (version.major == 1).then_some(Self(number))
    }

    /// All releases that the tables cover, oldest first.
    pub fn covered() -> impl Iterator<Item = Self> {
        (Self::OLDEST.0..=Self::NEWEST.0).map(Self)
    }

    /// The release `count` before, 1.0 at the least.
    pub const fn before(self, count: u16) -> Self {
        Self(self.0.saturating_sub(count))
    }

    /// The release `count` after.
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
    type Err = NoMinor;

    /// `1.36`, `v1.36` or `v1.36.4`.
    fn from_str(text: &str) -> Result<Self, NoMinor> {
        let mut numbers = text.strip_prefix('v').unwrap_or(text).split('.');
        let minor = match (numbers.next(), numbers.next()) {
            (Some("1"), Some(minor)) => minor.parse().ok(),
            _ => None,
        };
        minor.map(Self).ok_or_else(|| NoMinor(text.to_owned()))
    }
}

impl Serialize for Minor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Minor releases from one to another, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Minors {
    /// The first.
    pub from: Minor,
    /// The last; none where it is not over.
    pub to: Option<Minor>,
}

impl Minors {
    /// 1.`from` to 1.`to`.
    pub const fn new(from: u16, to: u16) -> Self {
        Self {
            from: Minor(from),
            to: Some(Minor(to)),
        }
    }

    /// 1.`from` and everything after it.
    pub const fn since(from: u16) -> Self {
        Self {
            from: Minor(from),
            to: None,
        }
    }

    /// Whether a release is among them.
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
    fn versions_and_their_minor_releases_are_read() {
        assert_eq!("1.36".parse(), Ok(Minor::new(36)));
        assert_eq!("v1.9.3".parse(), Ok(Minor::new(9)));
        for wrong in ["2.1", "1", "1.x", "", "latest"] {
            assert_eq!(wrong.parse::<Minor>(), Err(NoMinor(wrong.to_owned())));
        }
        assert_eq!(Minor::of(&Version::new(1, 36, 4)), Some(Minor::new(36)));
        assert_eq!(Minor::of(&Version::new(2, 0, 0)), None);
    }

    #[test]
    fn both_ends_of_a_span_belong_to_it() {
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
