//! A person's wish that a run end after what it is at.

use tokio::sync::watch;

use crate::error::RunError;

/// Whoever may say stop.
#[derive(Debug)]
pub struct StopSwitch(watch::Sender<bool>);

/// Whoever has to heed it.
#[derive(Debug, Clone)]
pub struct Stop(watch::Receiver<bool>);

impl StopSwitch {
    /// A switch, and what hangs on it.
    #[must_use]
    pub fn new() -> (Self, Stop) {
        let (sender, receiver) = watch::channel(false);
        (Self(sender), Stop(receiver))
    }

    /// Says stop, for good.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Stop {
    /// Whether stop was said.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        *self.0.borrow()
    }

    /// Comes back when stop is said; never, if nobody can say it any more.
    pub async fn asked(&mut self) {
        if self.0.wait_for(|asked| *asked).await.is_err() {
            std::future::pending().await
        }
    }

    /// What work for a host comes to, unless stop is said: then it is left where it
    /// is. For waits, and for what the next run goes on with.
    pub async fn heeded<T>(
        &self,
        host: &str,
        work: impl Future<Output = Result<T, RunError>>,
    ) -> Result<T, RunError> {
        let mut stop = self.clone();
        tokio::select! {
            biased;
            () = stop.asked() => Err(RunError::Stopped { host: host.to_owned() }),
            done = work => done,
        }
    }
}

/// A run that nobody stops.
impl Default for Stop {
    fn default() -> Self {
        StopSwitch::new().1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_waited_for_is_left_when_stop_is_said_and_not_begun_after_it() {
        let (switch, stop) = StopSwitch::new();
        let done = stop.heeded("win1", async { Ok(1) }).await;
        assert_eq!(done.unwrap(), 1);
        let wait = std::future::pending::<Result<(), RunError>>();
        let (left, ()) = tokio::join!(stop.heeded("win1", wait), async { switch.stop() });
        assert!(matches!(left, Err(RunError::Stopped { host }) if host == "win1"));
        let begun = stop.heeded("win1", async { panic!("it was begun") });
        assert!(matches!(
            begun.await,
            Err::<(), _>(RunError::Stopped { .. })
        ));
    }
}
