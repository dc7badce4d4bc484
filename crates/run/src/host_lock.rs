//! Waiting for one's turn on a host.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::error::RunError;
use crate::stop::Stop;

/// A run ends by itself, whatever became of the controller that began it.
const PATIENCE: Duration = Duration::from_secs(600);
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Asks until the host is free, or somebody says stop; `tell` hears once whose run is
/// at work.
pub async fn in_turn<T>(
    stop: &Stop,
    tell: impl Fn(String),
    mut ask: impl AsyncFnMut() -> Result<T, RunError>,
) -> Result<T, RunError> {
    let end = Instant::now() + PATIENCE;
    let mut told = None;
    loop {
        let (host, busy) = match ask().await {
            Err(RunError::Busy { host, busy }) if Instant::now() < end => (host, busy),
            answer => return answer,
        };
        if told.as_ref() != Some(&busy.holder.run) {
            let holder = &busy.holder.controller;
            tell(format!("waits for a run that {holder} began"));
            told = Some(busy.holder.run.clone());
        }
        let pause = async {
            sleep(LOOK_AGAIN).await;
            Ok(())
        };
        stop.heeded(&host, pause).await?;
    }
}

#[cfg(test)]
mod tests {
    use casement_resource::wire::{Busy, LockHolder};

    use super::*;
    use crate::stop::StopSwitch;

    #[tokio::test]
    async fn who_waits_for_a_turn_ends_when_stop_is_said() {
        let (switch, stop) = StopSwitch::new();
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
        let waited = in_turn(&stop, |_| switch.stop(), busy).await;
        assert!(matches!(waited, Err(RunError::Stopped { host }) if host == "win1"));
    }
}
