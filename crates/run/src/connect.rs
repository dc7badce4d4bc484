//! The first connection to a host. An unreachable host fails at once; a dropped
//! connection is retried for a while, since an earlier run that continues without its
//! controller may be changing the host's network.

use std::time::Duration;

use casement_remote::{AgentHome, Connection, HostEndpoint, Opened, RemoteError};
use tokio::time::Instant;

const RETRY_FOR: Duration = Duration::from_secs(15);
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// Connects and starts the agent.
pub async fn connect(
    endpoint: &HostEndpoint,
    home: &AgentHome,
    controller: &str,
) -> Result<(Connection, Opened), RemoteError> {
    let open = async || {
        let session = endpoint.connect().await?;
        let opened = home.open(&session, controller, |_| {}).await?;
        Ok((session, opened))
    };
    let since = Instant::now();
    let mut dropped = false;
    loop {
        match open().await {
            Err(error) if since.elapsed() < RETRY_FOR && is_retryable(&error, dropped) => {
                dropped = true;
                tokio::time::sleep(RETRY_INTERVAL).await;
            }
            result => return result,
        }
    }
}

/// A host that was reached once may be unreachable for a moment.
fn is_retryable(error: &RemoteError, dropped: bool) -> bool {
    error.is_disconnect() || (dropped && error.is_transient())
}
