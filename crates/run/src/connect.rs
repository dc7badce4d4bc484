//! The first connection to a host. One that does not answer is told at once; one
//! that takes the connection and drops it is tried again for a while: a run that
//! goes on there without a controller may be changing its network.

use std::time::Duration;

use casement_remote::{AgentHome, Connection, Dial, Opened, RemoteError};
use tokio::time::Instant;

/// How long that may take.
const A_WHILE: Duration = Duration::from_secs(15);
/// How long to wait before the next attempt.
const PAUSE: Duration = Duration::from_millis(500);

/// Connects, and starts the agent.
pub async fn first_contact(
    way: &impl Dial<Session = Connection>,
    home: &AgentHome,
    controller: &str,
) -> Result<(Connection, Opened), RemoteError> {
    let open = async || {
        let session = way.connect().await?;
        let opened = home.open(&session, controller, |_| {}).await?;
        Ok((session, opened))
    };
    let since = Instant::now();
    let mut dropped = false;
    loop {
        match open().await {
            Err(error) if since.elapsed() < A_WHILE && again(&error, dropped) => {
                dropped = true;
                tokio::time::sleep(PAUSE).await;
            }
            met => return met,
        }
    }
}

/// Whoever has been there once may be out of reach for a moment.
fn again(error: &RemoteError, dropped: bool) -> bool {
    error.is_cut() || (dropped && error.is_transient())
}
