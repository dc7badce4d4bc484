//! Connections that drop, and what is asked again then.

use std::time::Duration;

use casement_remote::Reconnect;
use casement_resource::wire::{ToAgent, ToController};
use tokio::time::{Instant, sleep};

use super::Link;
use crate::error::RunError;
use crate::stop::Stop;

/// How long a connection that was lost may take to be back when somebody wants to stop.
const A_MOMENT: Duration = Duration::from_secs(2);
/// How often the connection may drop while one thing is asked or brought: it was back
/// each time, and what was done stays.
const CUTS: u32 = 5;

impl Link {
    /// What came of something; nothing after a cut, when it is to be done again from its
    /// beginning. What was done for it before is found done.
    pub(super) async fn unless_cut<T>(
        &mut self,
        done: Result<T, RunError>,
        cuts: &mut u32,
        patience: Reconnect,
    ) -> Result<Option<T>, RunError> {
        match done {
            Err(error) if error.is_cut() && *cuts < CUTS => {
                *cuts += 1;
                self.reopen(patience).await?;
                Ok(None)
            }
            done => done.map(Some),
        }
    }

    /// Asks what has one answer.
    pub(super) async fn ask(&mut self, question: &ToAgent) -> Result<ToController, RunError> {
        let (mut cuts, patience) = (0, Reconnect::default());
        loop {
            let heard = match self.say(question).await {
                Ok(()) => self.hear().await,
                Err(error) => Err(error),
            };
            if let Some(heard) = self.unless_cut(heard, &mut cuts, patience).await? {
                return Ok(heard);
            }
        }
    }

    /// Says messages one after the other; after a cut, all of them again: who is spoken
    /// to then has heard none of them.
    pub(super) async fn say_again(
        &mut self,
        messages: &[&ToAgent],
        patience: Reconnect,
    ) -> Result<(), RunError> {
        let mut cuts = 0;
        loop {
            let said = self.say_all(messages).await;
            if let Some(()) = self.unless_cut(said, &mut cuts, patience).await? {
                return Ok(());
            }
        }
    }

    async fn say_all(&mut self, messages: &[&ToAgent]) -> Result<(), RunError> {
        for message in messages {
            self.say(message).await?;
        }
        Ok(())
    }

    /// Takes away the agent that has ended; it is not started again for that.
    pub(super) async fn take_agent_away(&mut self) -> Result<(), RunError> {
        let mut cuts = 0;
        loop {
            match self.home.remove(&self.session).await {
                Err(error) if error.is_transient() && cuts < CUTS => {
                    cuts += 1;
                    let (stop, host) = (self.stop.clone(), self.name().to_owned());
                    let patience = Reconnect::default();
                    let back = async { Ok(patience.connect(&self.way, |_| {}).await?) };
                    self.session = unless_over(stop, host, back).await?;
                }
                removed => return Ok(removed?),
            }
        }
    }

    /// Connects again.
    pub(super) async fn reopen(&mut self, patience: Reconnect) -> Result<(), RunError> {
        let (stop, host) = (self.stop.clone(), self.name().to_owned());
        unless_over(stop, host, self.come_back(patience)).await
    }

    /// A host that goes down or comes up may take a connection and drop it at once:
    /// that counts as not being back yet.
    async fn come_back(&mut self, patience: Reconnect) -> Result<(), RunError> {
        let since = Instant::now();
        loop {
            let left = patience.deadline.saturating_sub(since.elapsed());
            let patience = Reconnect {
                deadline: left,
                ..patience
            };
            self.session = patience.connect(&self.way, |_| {}).await?;
            let opening = self.home.open(&self.session, &self.controller, |_| {});
            match opening.await {
                Ok(opened) => {
                    self.channel = opened.channel;
                    return self.take_hello(*opened.answer);
                }
                Err(error) if error.is_transient() && !left.is_zero() => {
                    sleep(patience.first_pause).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Comes back to a host. Who has said stop waits for no more than a moment: a host that
/// is there hears of it, and one that is away goes on without us, and is waited for by
/// the next run.
async fn unless_over<T>(
    mut stop: Stop,
    host: String,
    back: impl Future<Output = Result<T, RunError>>,
) -> Result<T, RunError> {
    let over = async {
        stop.asked().await;
        sleep(A_MOMENT).await;
    };
    tokio::select! {
        came = back => came,
        () = over => Err(RunError::Stopped { host }),
    }
}
