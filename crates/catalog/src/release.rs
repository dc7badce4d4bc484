//! Version numbers that can be used in constants.

use std::fmt;

use semver::Version;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    pub major: u64,
    pub minor: u64,
    pub patch: u64,
}

impl Release {
    pub const fn new(major: u64, minor: u64, patch: u64) -> Self {
        Self {
            major,
            minor,
            patch,
        }
    }

    /// For comparison with versions that may be pre-releases.
    pub const fn version(self) -> Version {
        Version::new(self.major, self.minor, self.patch)
    }

    pub const fn line(self) -> (u64, u64) {
        (self.major, self.minor)
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}
