//! A person's wish that a run end after what it is at.

use tokio::sync::watch;

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
}

/// A run that nobody stops.
impl Default for Stop {
    fn default() -> Self {
        StopSwitch::new().1
    }
}
