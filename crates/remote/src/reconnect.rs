//! Reconnecting. Creating the first HNS network on a NIC moves the address to another
//! interface and drops every connection, for seconds up to a minute; a reboot takes
//! longer.

use std::time::Duration;

use tokio::time::Instant;

use crate::error::{ConnectionError, RemoteError};
use crate::transport::{Connection, HostEndpoint};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reconnect {
    pub timeout: Duration,
    /// Doubles after each attempt, up to `max_delay`.
    pub initial_delay: Duration,
    pub max_delay: Duration,
}

impl Default for Reconnect {
    /// Long enough for a network change.
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(120),
            initial_delay: Duration::from_millis(200),
            max_delay: Duration::from_secs(5),
        }
    }
}

/// A failed attempt, for progress output.
#[derive(Debug)]
pub struct Attempt<'a> {
    /// Counted from 1.
    pub number: u32,
    pub error: &'a RemoteError,
    /// Since the first attempt.
    pub elapsed: Duration,
}

impl Reconnect {
    /// Retries until it succeeds, the timeout passes, or an error is permanent (a
    /// changed host key, a rejected login).
    pub async fn connect(
        &self,
        endpoint: &HostEndpoint,
        mut on_failure: impl FnMut(Attempt<'_>),
    ) -> Result<Connection, RemoteError> {
        let start = Instant::now();
        let mut delay = self.initial_delay;
        let mut number = 0;
        loop {
            number += 1;
            let remaining = self.timeout.saturating_sub(start.elapsed());
            let mut endpoint = endpoint.clone();
            let connect_timeout = endpoint.connect_timeout_mut();
            *connect_timeout = remaining.min(*connect_timeout);
            let error = match endpoint.connect().await {
                Ok(session) => return Ok(session),
                Err(error) => error,
            };
            if !error.is_transient() {
                return Err(error);
            }
            let elapsed = start.elapsed();
            on_failure(Attempt {
                number,
                error: &error,
                elapsed,
            });
            if elapsed + delay >= self.timeout {
                return Err(RemoteError::Connection(
                    ConnectionError::ReconnectTimedOut {
                        host: endpoint.host(),
                        timeout: self.timeout,
                        attempts: number,
                        last: Box::new(error),
                    },
                ));
            }
            tokio::time::sleep(delay).await;
            delay = (delay * 2).min(self.max_delay);
        }
    }
}
