//! Polling with a timeout.

use std::thread;
use std::time::{Duration, Instant};

/// Polls with increasing intervals (5 ms to 200 ms); `None` after the timeout.
pub fn until<T>(timeout: Duration, mut poll: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + timeout;
    let mut interval = Duration::from_millis(5);
    loop {
        if let Some(value) = poll() {
            return Some(value);
        }
        let left = deadline.checked_duration_since(Instant::now())?;
        thread::sleep(interval.min(left));
        interval = (interval * 3 / 2).min(Duration::from_millis(200));
    }
}
