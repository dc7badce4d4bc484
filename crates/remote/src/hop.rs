//! A bastion: one SSH connection, shared by all hosts behind it.

use std::sync::Arc;

use russh::client::Msg;
use russh::{Channel, ChannelOpenFailure};
use tokio::sync::Mutex;

use crate::error::{ConnectionError, HostLabel, RemoteError};
use crate::session::Session;
use crate::target::Target;

/// Clones share one connection, which is opened on first use and reopened after it was
/// lost.
#[derive(Clone)]
pub struct Hop(Arc<Shared>);

struct Shared {
    target: Target,
    open: Mutex<Option<Arc<Session>>>,
}

impl Hop {
    /// The target may itself be behind another hop.
    pub fn new(target: Target) -> Self {
        Self(Arc::new(Shared {
            target,
            open: Mutex::default(),
        }))
    }

    pub fn host(&self) -> HostLabel {
        HostLabel::ssh(&self.0.target)
    }

    /// Opens a stream through the bastion to `host`, and returns the session that keeps
    /// it open.
    pub(crate) async fn open_stream(
        &self,
        host: &HostLabel,
    ) -> Result<(Channel<Msg>, Arc<Session>), RemoteError> {
        let session = self.session().await?;
        let (address, port) = (host.address(), u32::from(host.port()));
        let opened = session
            .handle()
            .channel_open_direct_tcpip(address, port, "127.0.0.1", 0);
        let channel = opened.await.map_err(|error| match error {
            russh::Error::ChannelOpenFailure(reason) => {
                RemoteError::Connection(ConnectionError::ForwardingFailed {
                    host: host.clone(),
                    bastion: self.host(),
                    reason: match reason {
                        ChannelOpenFailure::AdministrativelyProhibited => {
                            "the bastion does not allow forwarding".to_owned()
                        }
                        ChannelOpenFailure::ConnectFailed => {
                            "the bastion cannot connect to the host".to_owned()
                        }
                        other => format!("{other:?}"),
                    },
                })
            }
            other => RemoteError::Connection(ConnectionError::Lost {
                host: self.host(),
                step: "opening a forwarded connection",
                source: Some(Box::new(other)),
            }),
        })?;
        Ok((channel, session))
    }

    async fn session(&self) -> Result<Arc<Session>, RemoteError> {
        let mut open = self.0.open.lock().await;
        if let Some(session) = open.as_ref().filter(|session| !session.is_closed()) {
            return Ok(Arc::clone(session));
        }
        // Recursive: a hop may be behind another one.
        let session = Arc::new(Box::pin(Session::connect(&self.0.target)).await?);
        *open = Some(Arc::clone(&session));
        Ok(session)
    }
}
