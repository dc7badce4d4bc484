//! Bounded parallelism over hosts: each costs a connection, a process on the host and
//! memory here.

use std::fmt;
use std::num::NonZeroU16;
use std::str::FromStr;

use futures_util::StreamExt as _;
use futures_util::stream;

/// The maximum number of hosts in parallel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Concurrency(NonZeroU16);

impl Concurrency {
    /// Results are in the order of `work`.
    pub async fn all<F: Future>(self, work: impl IntoIterator<Item = F>) -> Vec<F::Output> {
        let work = work.into_iter().enumerate();
        let work = work.map(|(index, work)| async move { (index, work.await) });
        let work = stream::iter(work).buffer_unordered(self.0.get().into());
        let mut done: Vec<_> = work.collect().await;
        done.sort_by_key(|(index, _)| *index);
        done.into_iter().map(|(_, result)| result).collect()
    }
}

impl Default for Concurrency {
    /// What a small controller machine can handle.
    fn default() -> Self {
        Self(const { NonZeroU16::new(32).unwrap() })
    }
}

impl fmt::Display for Concurrency {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl FromStr for Concurrency {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let hosts = text.parse().map(Self);
        hosts.map_err(|_| "expected a number of hosts from 1 to 65535")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    async fn peak(concurrency: Concurrency) -> usize {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (now, most_seen) = (&now, &most);
        let work = (0..100_u64).map(|host| async move {
            most_seen.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(std::time::Duration::from_secs(100 - host)).await;
            now.fetch_sub(1, Ordering::SeqCst);
            host
        });
        let done = concurrency.all(work).await;
        assert!(done.iter().copied().eq(0..100));
        most.into_inner()
    }

    #[tokio::test(start_paused = true)]
    async fn parallelism_is_bounded_and_results_keep_their_order() {
        assert_eq!(peak(Concurrency::default()).await, 32);
        assert_eq!(peak("1".parse().unwrap()).await, 1);
        assert_eq!(peak("64".parse().unwrap()).await, 64);
        for invalid in ["0", "-1", "many", "65536"] {
            assert!(Concurrency::from_str(invalid).is_err(), "{invalid}");
        }
    }
}
