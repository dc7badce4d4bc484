//! Waiting for a condition, with an end.

use std::thread;
use std::time::{Duration, Instant};

/// Asks again and again, a little slower each time, until there is an answer or
/// the time is over.
pub fn until<T>(limit: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + limit;
    let mut pause = Duration::from_millis(5);
    loop {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        let left = end.checked_duration_since(Instant::now())?;
        thread::sleep(pause.min(left));
        pause = (pause * 3 / 2).min(Duration::from_millis(200));
    }
}
