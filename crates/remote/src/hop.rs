//! A host on the way to others: one connection, shared by all that go through it.

use std::sync::Arc;

use russh::client::Msg;
use russh::{Channel, ChannelOpenFailure};
use tokio::sync::Mutex;

use crate::error::{Place, RemoteError};
use crate::session::Session;
use crate::target::Target;

/// A bastion. Its clones share one connection, which is made when it is first
/// needed and made anew when it is gone.
#[derive(Clone)]
pub struct Hop(Arc<Shared>);

struct Shared {
    target: Target,
    open: Mutex<Option<Arc<Session>>>,
}

impl Hop {
    /// A hop that is reached as the target says; it may have a hop of its own.
    pub fn new(target: Target) -> Self {
        Self(Arc::new(Shared {
            target,
            open: Mutex::default(),
        }))
    }

    /// Where it is.
    pub fn place(&self) -> Place {
        Place::of(&self.0.target)
    }

    /// A stream to a place that is seen from there, and what keeps it open.
    pub(crate) async fn through(
        &self,
        place: &Place,
    ) -> Result<(Channel<Msg>, Arc<Session>), RemoteError> {
        let session = self.session().await?;
        let (address, port) = (place.address(), u32::from(place.port()));
        let opened = session
            .handle()
            .channel_open_direct_tcpip(address, port, "127.0.0.1", 0);
        let channel = opened.await.map_err(|error| match error {
            russh::Error::ChannelOpenFailure(reason) => RemoteError::NotForwarded {
                place: place.clone(),
                bastion: self.place(),
                reason: match reason {
                    ChannelOpenFailure::AdministrativelyProhibited => {
                        "it does not forward connections".to_owned()
                    }
                    ChannelOpenFailure::ConnectFailed => "it cannot connect to it".to_owned(),
                    other => format!("{other:?}"),
                },
            },
            other => RemoteError::Lost {
                place: self.place(),
                step: "going on from it",
                source: Some(Box::new(other)),
            },
        })?;
        Ok((channel, session))
    }

    async fn session(&self) -> Result<Arc<Session>, RemoteError> {
        let mut open = self.0.open.lock().await;
        if let Some(session) = open.as_ref().filter(|session| !session.is_closed()) {
            return Ok(Arc::clone(session));
        }
        // A hop may be behind another one.
        let session = Arc::new(Box::pin(Session::connect(&self.0.target)).await?);
        *open = Some(Arc::clone(&session));
        Ok(session)
    }
}
