//! How often simulated programs look around. A real kubelet takes ten seconds to tell of
//! itself, which nobody needs to wait for in a small cluster; the hosts of a large one
//! share a machine, and take their time as real ones do.

use std::time::Duration;

/// How much slower than in a small cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pace(u32);

impl Pace {
    /// Of each of so many hosts.
    pub(crate) fn among(hosts: usize) -> Self {
        Self(u32::try_from(hosts / 100).unwrap_or(u32::MAX).max(1))
    }

    /// Between two looks, which would be so far apart in a small cluster.
    pub(crate) fn apart(self, usual: Duration) -> Duration {
        usual.saturating_mul(self.0)
    }
}

impl Default for Pace {
    fn default() -> Self {
        Self::among(1)
    }
}
