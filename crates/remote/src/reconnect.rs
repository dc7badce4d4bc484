//! Coming back after a cut. Making the first HNS network on a NIC moves the
//! address to another interface and drops every connection, for seconds up to a
//! minute; a reboot takes longer.

use std::time::Duration;

use tokio::time::Instant;

use crate::error::RemoteError;
use crate::transport::Dial;

/// How patient to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reconnect {
    /// After so long the host counts as lost.
    pub deadline: Duration,
    /// The first pause; each next one is twice as long …
    pub first_pause: Duration,
    /// … up to this.
    pub longest_pause: Duration,
}

impl Default for Reconnect {
    /// Patient enough for a network that is being made.
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(120),
            first_pause: Duration::from_millis(200),
            longest_pause: Duration::from_secs(5),
        }
    }
}

/// One failed attempt, for whoever shows progress.
#[derive(Debug)]
pub struct Attempt<'a> {
    /// Counted from one.
    pub number: u32,
    /// What went wrong.
    pub error: &'a RemoteError,
    /// The time since the first attempt.
    pub elapsed: Duration,
}

impl Reconnect {
    /// Connects until it works, the deadline passes, or an error shows that
    /// waiting does not help (a changed host key, a refused login).
    pub async fn connect<D: Dial>(
        &self,
        target: &D,
        mut failed: impl FnMut(Attempt<'_>),
    ) -> Result<D::Session, RemoteError> {
        let start = Instant::now();
        let mut pause = self.first_pause;
        let mut number = 0;
        loop {
            number += 1;
            let left = self.deadline.saturating_sub(start.elapsed());
            let mut target = target.clone();
            let patience = target.patience();
            *patience = left.min(*patience);
            let error = match target.connect().await {
                Ok(session) => return Ok(session),
                Err(error) => error,
            };
            if !error.is_transient() {
                return Err(error);
            }
            let elapsed = start.elapsed();
            failed(Attempt {
                number,
                error: &error,
                elapsed,
            });
            if elapsed + pause >= self.deadline {
                return Err(RemoteError::NotBack {
                    place: target.place(),
                    waited: self.deadline,
                    attempts: number,
                    last: Box::new(error),
                });
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(self.longest_pause);
        }
    }
}
