//! How the services of a node end when their host does: those that need others
//! end first, so that a kubelet that drains still has its runtime, and each in
//! its own time.
//!
//! Windows tells all services at once that it goes down, and waits for each of
//! them for as long as it has asked for. The order is theirs to keep.

use std::time::Duration;

/// For how long Windows waits for a service, and for those that it waits for.
pub const LONGEST: Duration = Duration::from_secs(180);
/// Kept back of that, for a program that does not listen to be killed.
const TO_DIE: Duration = Duration::from_secs(10);

/// What a service does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It lets those end that need it.
    Wait,
    /// It asks its program to end.
    Ask,
    /// It ends its program.
    Kill,
}

/// What a service does next, so long after the host has begun to go down, while
/// services that need it still run or none does.
#[must_use]
pub fn next(since: Duration, needed: bool) -> Next {
    if since + TO_DIE >= LONGEST {
        Next::Kill
    } else if needed && since < LONGEST / 2 {
        Next::Wait
    } else {
        Next::Ask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_that_is_needed_waits_but_not_for_ever() {
        let seconds = Duration::from_secs;
        assert_eq!(next(seconds(0), false), Next::Ask);
        assert_eq!(next(seconds(0), true), Next::Wait);
        assert_eq!(next(seconds(89), true), Next::Wait);
        assert_eq!(next(seconds(90), true), Next::Ask);
        assert_eq!(next(seconds(169), false), Next::Ask);
        assert_eq!(next(seconds(170), true), Next::Kill);
    }
}
