//! Cancellation of a run, checked between steps.

use tokio::sync::watch;

use crate::error::RunError;

/// Cancels every [`CancelToken`] that belongs to it.
#[derive(Debug)]
pub struct CancelSource(watch::Sender<bool>);

#[derive(Debug, Clone)]
pub struct CancelToken(watch::Receiver<bool>);

impl CancelSource {
    #[must_use]
    pub fn new() -> (Self, CancelToken) {
        let (sender, receiver) = watch::channel(false);
        (Self(sender), CancelToken(receiver))
    }

    /// Cannot be undone.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }
}

impl CancelToken {
    #[must_use]
    pub fn is_canceled(&self) -> bool {
        *self.0.borrow()
    }

    /// Never returns if the source is gone without a cancellation.
    pub async fn canceled(&mut self) {
        if self.0.wait_for(|canceled| *canceled).await.is_err() {
            std::future::pending().await
        }
    }

    /// Drops `work` at its current await point on cancellation: for waits, and for
    /// work that the next run resumes.
    pub async fn run<T>(
        &self,
        host: &str,
        work: impl Future<Output = Result<T, RunError>>,
    ) -> Result<T, RunError> {
        let mut token = self.clone();
        tokio::select! {
            biased;
            () = token.canceled() => Err(RunError::Canceled { host: host.to_owned() }),
            result = work => result,
        }
    }
}

/// A token that is never canceled.
impl Default for CancelToken {
    fn default() -> Self {
        CancelSource::new().1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn cancellation_drops_pending_work_and_prevents_new_work() {
        let (source, token) = CancelSource::new();
        let result = token.run("win1", async { Ok(1) }).await;
        assert_eq!(result.unwrap(), 1);
        let wait = std::future::pending::<Result<(), RunError>>();
        let (dropped, ()) = tokio::join!(token.run("win1", wait), async { source.cancel() });
        assert!(matches!(dropped, Err(RunError::Canceled { host }) if host == "win1"));
        let started = token.run("win1", async {
            panic!("work started after the cancellation")
        });
        assert!(matches!(
            started.await,
            Err::<(), _>(RunError::Canceled { .. })
        ));
    }
}
