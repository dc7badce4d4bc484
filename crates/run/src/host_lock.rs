//! Waits for a host that another run has locked.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::cancel::CancelToken;
use crate::error::RunError;

/// A run on a host ends by itself, even if its controller is gone.
const LOCK_TIMEOUT: Duration = Duration::from_secs(600);
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Repeats `request` until the host is free; `on_wait` gets the holder of the lock once.
pub async fn when_unlocked<T>(
    cancel: &CancelToken,
    on_wait: impl Fn(String),
    mut request: impl AsyncFnMut() -> Result<T, RunError>,
) -> Result<T, RunError> {
    let deadline = Instant::now() + LOCK_TIMEOUT;
    let mut reported = None;
    loop {
        let (host, busy) = match request().await {
            Err(RunError::Busy { host, busy }) if Instant::now() < deadline => (host, busy),
            result => return result,
        };
        if reported.as_ref() != Some(&busy.holder.run) {
            let holder = &busy.holder.controller;
            on_wait(format!("waiting for a run started by {holder}"));
            reported = Some(busy.holder.run.clone());
        }
        let pause = async {
            sleep(POLL_INTERVAL).await;
            Ok(())
        };
        cancel.run(&host, pause).await?;
    }
}

#[cfg(test)]
mod tests {
    use casement_resource::wire::{Busy, LockHolder};

    use super::*;
    use crate::cancel::CancelSource;

    #[tokio::test]
    async fn cancellation_ends_the_wait_for_a_locked_host() {
        let (source, token) = CancelSource::new();
        let busy = async || {
            let holder = LockHolder {
                run: "r1".parse().unwrap(),
                controller: "anna".to_owned(),
                since: 0,
            };
            let run = "r2".parse().unwrap();
            Err::<(), _>(RunError::Busy {
                host: "win1".to_owned(),
                busy: Box::new(Busy { run, holder }),
            })
        };
        let waited = when_unlocked(&token, |_| source.cancel(), busy).await;
        assert!(matches!(waited, Err(RunError::Canceled { host }) if host == "win1"));
    }
}
