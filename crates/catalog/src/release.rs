//! Releases as three numbers, for tables that are constants.

use std::fmt;

use semver::Version;

/// A release, such as 2.3.4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    /// The first number.
    pub major: u64,
    /// The second.
    pub minor: u64,
    /// The third.
    pub patch: u64,
}

impl Release {
    /// `major.minor.patch`.
    pub const fn new(major: u64, minor: u64, patch: u64) -> Self {
        Self {
            major,
            minor,
            patch,
        }
    }

    /// For comparisons with what people write, pre-releases included.
    pub const fn version(self) -> Version {
        Version::new(self.major, self.minor, self.patch)
    }

    /// Major and minor number.
    pub const fn line(self) -> (u64, u64) {
        (self.major, self.minor)
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}
