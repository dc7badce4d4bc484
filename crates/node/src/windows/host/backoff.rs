//! How long to wait before a program that ended is started again.

use std::time::Duration;

use casement_resource::{RESTART_FIRST_SECONDS, RESTART_LONGEST_SECONDS};

const FIRST: Duration = Duration::from_secs(RESTART_FIRST_SECONDS);
const LONGEST: Duration = Duration::from_secs(RESTART_LONGEST_SECONDS);
/// A program that ran for this long was well; its end begins a new series.
const WELL: Duration = Duration::from_secs(120);

/// Doubles from one end to the next.
#[derive(Debug)]
pub struct Backoff {
    next: Duration,
}

impl Backoff {
    /// Nothing has ended yet.
    pub fn new() -> Self {
        Self { next: FIRST }
    }

    /// The pause after a program that ran for some time.
    pub fn next(&mut self, ran: Duration) -> Duration {
        if ran >= WELL {
            self.next = FIRST;
        }
        let pause = self.next;
        self.next = (self.next * 2).min(LONGEST);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_limit() {
        let mut backoff = Backoff::new();
        let pauses: Vec<u64> = (0..8).map(|_| backoff.next(FIRST).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
    }

    #[test]
    fn a_long_run_begins_anew() {
        let mut backoff = Backoff::new();
        backoff.next(FIRST);
        backoff.next(FIRST);
        assert_eq!(backoff.next(WELL), FIRST);
    }
}
