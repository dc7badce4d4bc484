//! The same work on many hosts at once, and not on too many: each takes a
//! connection, a process of the host and a share of this machine.

use std::fmt;
use std::num::NonZeroU16;
use std::str::FromStr;

use futures_util::StreamExt as _;
use futures_util::stream;

/// How many hosts are worked on at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtOnce(NonZeroU16);

impl AtOnce {
    /// What each of them comes to, in their order.
    pub async fn all<F: Future>(self, work: impl IntoIterator<Item = F>) -> Vec<F::Output> {
        let work = work.into_iter().enumerate();
        let work = work.map(|(at, work)| async move { (at, work.await) });
        let work = stream::iter(work).buffer_unordered(self.0.get().into());
        let mut done: Vec<_> = work.collect().await;
        done.sort_by_key(|(at, _)| *at);
        done.into_iter().map(|(_, result)| result).collect()
    }
}

impl Default for AtOnce {
    /// As many as a small machine can serve.
    fn default() -> Self {
        Self(const { NonZeroU16::new(32).unwrap() })
    }
}

impl fmt::Display for AtOnce {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl FromStr for AtOnce {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let hosts = text.parse().map(Self);
        hosts.map_err(|_| "give a number of hosts from 1 to 65535")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    async fn most_at_once(at_once: AtOnce) -> usize {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (now, most_seen) = (&now, &most);
        let work = (0..100_u64).map(|host| async move {
            most_seen.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(std::time::Duration::from_secs(100 - host)).await;
            now.fetch_sub(1, Ordering::SeqCst);
            host
        });
        let done = at_once.all(work).await;
        assert!(done.iter().copied().eq(0..100));
        most.into_inner()
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_than_so_many_are_worked_on_and_the_order_stays() {
        assert_eq!(most_at_once(AtOnce::default()).await, 32);
        assert_eq!(most_at_once("1".parse().unwrap()).await, 1);
        assert_eq!(most_at_once("64".parse().unwrap()).await, 64);
        for wrong in ["0", "-1", "many", "65536"] {
            assert!(AtOnce::from_str(wrong).is_err(), "{wrong}");
        }
    }
}
