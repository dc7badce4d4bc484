//! Reconnects after a lost connection and repeats the request that was in flight.

use std::time::Duration;

use casement_remote::Reconnect;
use casement_resource::wire::{ToAgent, ToController};
use tokio::time::{Instant, sleep};

use super::AgentClient;
use crate::cancel::CancelToken;
use crate::error::RunError;
use crate::host_agent::HostAgent as _;

/// How long a canceled run still waits for a lost connection.
const CANCEL_GRACE: Duration = Duration::from_secs(2);
/// How often the connection may drop during one request or transfer. Completed work is
/// kept each time.
const MAX_DROPS: u32 = 5;

impl AgentClient {
    /// `None` after a reconnect: the caller repeats the request from its beginning. The
    /// agent skips what it has already done.
    pub(super) async fn unless_dropped<T>(
        &mut self,
        result: Result<T, RunError>,
        drops: &mut u32,
        reconnect: Reconnect,
    ) -> Result<Option<T>, RunError> {
        match result {
            Err(error) if error.is_connection_loss() && *drops < MAX_DROPS => {
                *drops += 1;
                self.reopen(reconnect).await?;
                Ok(None)
            }
            result => result.map(Some),
        }
    }

    /// For requests with exactly one response.
    pub(super) async fn request(&mut self, request: &ToAgent) -> Result<ToController, RunError> {
        let (mut drops, reconnect) = (0, Reconnect::default());
        loop {
            let response = match self.send(request).await {
                Ok(()) => self.receive().await,
                Err(error) => Err(error),
            };
            if let Some(response) = self.unless_dropped(response, &mut drops, reconnect).await? {
                return Ok(response);
            }
        }
    }

    /// Sends all messages again after a reconnect: the new agent process has received
    /// none of them.
    pub(super) async fn send_all(
        &mut self,
        messages: &[&ToAgent],
        reconnect: Reconnect,
    ) -> Result<(), RunError> {
        let mut drops = 0;
        loop {
            let sent = self.send_each(messages).await;
            if let Some(()) = self.unless_dropped(sent, &mut drops, reconnect).await? {
                return Ok(());
            }
        }
    }

    async fn send_each(&mut self, messages: &[&ToAgent]) -> Result<(), RunError> {
        for message in messages {
            self.send(message).await?;
        }
        Ok(())
    }

    /// Deletes the agent's executable after its process has exited; does not start it
    /// again.
    pub(super) async fn delete_agent(&mut self) -> Result<(), RunError> {
        let mut drops = 0;
        loop {
            match self.session.remove_agent(&self.home).await {
                Err(error) if error.is_transient() && drops < MAX_DROPS => {
                    drops += 1;
                    let (cancel, host) = (self.cancel.clone(), self.name().to_owned());
                    let reconnect = Reconnect::default();
                    let session = async { Ok(reconnect.connect(&self.endpoint, |_| {}).await?) };
                    self.session = unless_canceled(cancel, host, session).await?;
                }
                removed => return Ok(removed?),
            }
        }
    }

    pub(super) async fn reopen(&mut self, reconnect: Reconnect) -> Result<(), RunError> {
        let (cancel, host) = (self.cancel.clone(), self.name().to_owned());
        unless_canceled(cancel, host, self.reconnect(reconnect)).await
    }

    /// A host that shuts down or boots may accept a connection and drop it at once: that
    /// counts as still unreachable.
    async fn reconnect(&mut self, reconnect: Reconnect) -> Result<(), RunError> {
        let since = Instant::now();
        loop {
            let remaining = reconnect.timeout.saturating_sub(since.elapsed());
            let reconnect = Reconnect {
                timeout: remaining,
                ..reconnect
            };
            self.session = reconnect.connect(&self.endpoint, |_| {}).await?;
            let opening = self.home.open(&self.session, &self.controller, |_| {});
            match opening.await {
                Ok(opened) => {
                    self.channel = opened.channel;
                    return self.accept_hello(*opened.first_message);
                }
                Err(error) if error.is_transient() && !remaining.is_zero() => {
                    sleep(reconnect.initial_delay).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// After a cancellation, a reachable host still gets the cancel request; an unreachable
/// one finishes its run by itself, and the next run waits for it.
async fn unless_canceled<T>(
    mut cancel: CancelToken,
    host: String,
    reconnected: impl Future<Output = Result<T, RunError>>,
) -> Result<T, RunError> {
    let grace_over = async {
        cancel.canceled().await;
        sleep(CANCEL_GRACE).await;
    };
    tokio::select! {
        result = reconnected => result,
        () = grace_over => Err(RunError::Canceled { host }),
    }
}
