//! Polling intervals of simulated programs. They are much shorter than a real kubelet's ten
//! seconds in a small cluster, and longer in a large one, whose hosts share this computer.

use std::time::Duration;

/// Factor compared with a small cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pace(u32);

impl Pace {
    pub(crate) fn for_hosts(hosts: usize) -> Self {
        Self(u32::try_from(hosts / 100).unwrap_or(u32::MAX).max(1))
    }

    /// `interval` is the interval in a small cluster.
    pub(crate) fn scale(self, interval: Duration) -> Duration {
        interval.saturating_mul(self.0)
    }
}

impl Default for Pace {
    fn default() -> Self {
        Self::for_hosts(1)
    }
}
