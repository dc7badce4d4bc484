//! The order in which the services of a node stop when Windows shuts down:
//! dependents first, so that a draining kubelet still has its container runtime.
//!
//! Windows sends the preshutdown control to all services at once and waits for each
//! up to its registered timeout, so the services have to keep the order themselves.

use std::time::Duration;

/// How long Windows waits for a service, including the time that the service spends
/// waiting for its dependents.
pub const PRESHUTDOWN_TIMEOUT: Duration = Duration::from_secs(180);
/// The part of that time reserved for killing a program that does not exit.
const KILL_RESERVE: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Wait for the services that depend on this one.
    Wait,
    /// Ask the program to exit.
    Ask,
    /// Kill the program.
    Kill,
}

/// `elapsed` is counted from the preshutdown control; `needed` is whether a
/// dependent still runs.
#[must_use]
pub fn next_action(elapsed: Duration, needed: bool) -> Action {
    if elapsed + KILL_RESERVE >= PRESHUTDOWN_TIMEOUT {
        Action::Kill
    } else if needed && elapsed < PRESHUTDOWN_TIMEOUT / 2 {
        Action::Wait
    } else {
        Action::Ask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needed_service_waits_for_a_limited_time() {
        let seconds = Duration::from_secs;
        assert_eq!(next_action(seconds(0), false), Action::Ask);
        assert_eq!(next_action(seconds(0), true), Action::Wait);
        assert_eq!(next_action(seconds(89), true), Action::Wait);
        assert_eq!(next_action(seconds(90), true), Action::Ask);
        assert_eq!(next_action(seconds(169), false), Action::Ask);
        assert_eq!(next_action(seconds(170), true), Action::Kill);
    }
}
