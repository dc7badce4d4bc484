//! The same work on many hosts at once, and not on too many: each takes a
//! connection, a process of the host and a share of this machine.

use futures_util::StreamExt as _;
use futures_util::stream;

/// How many hosts are worked on at once, unless somebody says otherwise.
pub const AT_ONCE: usize = 32;

/// What each of them comes to, in their order.
pub async fn at_once<F: Future>(work: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let work = work.into_iter().enumerate();
    let work: Vec<_> = work
        .map(|(at, work)| async move { (at, work.await) })
        .collect();
    let mut done: Vec<_> = stream::iter(work).buffer_unordered(AT_ONCE).collect().await;
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn no_more_than_so_many_are_worked_on_and_the_order_stays() {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (now, most) = (&now, &most);
        let work = (0..100_u64).map(|host| async move {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(std::time::Duration::from_secs(100 - host)).await;
            now.fetch_sub(1, Ordering::SeqCst);
            host
        });
        let done = at_once(work).await;
        assert!(done.iter().copied().eq(0..100));
        assert_eq!(most.load(Ordering::SeqCst), AT_ONCE);
    }
}
