//! Waiting for one's turn on a host.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::error::RunError;

/// A run ends by itself, whatever became of the controller that began it.
const PATIENCE: Duration = Duration::from_secs(600);
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Asks until the host is free; `tell` hears once whose run is at work.
pub async fn in_turn<T>(
    tell: impl Fn(String),
    mut ask: impl AsyncFnMut() -> Result<T, RunError>,
) -> Result<T, RunError> {
    let end = Instant::now() + PATIENCE;
    let mut told = None;
    loop {
        let busy = match ask().await {
            Err(RunError::Busy { busy, .. }) if Instant::now() < end => busy,
            answer => return answer,
        };
        if told.as_ref() != Some(&busy.holder.run) {
            let holder = &busy.holder.controller;
            tell(format!("waits for a run that {holder} began"));
            told = Some(busy.holder.run.clone());
        }
        sleep(LOOK_AGAIN).await;
    }
}
