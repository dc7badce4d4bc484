//! The way to the service of a simulated host, which is a thread of this
//! process.

use std::io;
use std::sync::{Mutex, PoisonError, mpsc};

use casement_resource::{Code, Failure};

use crate::backstage::{Backstage, Duplex, Listener};
use crate::platform::Result;

/// The channel's side.
#[derive(Debug)]
pub struct Door(Mutex<Option<mpsc::Sender<Duplex>>>);

/// The service's side.
#[derive(Debug)]
pub struct DoorListener(mpsc::Receiver<Duplex>);

/// Both sides.
#[must_use]
pub fn door() -> (Door, DoorListener) {
    let (sender, receiver) = mpsc::channel();
    (Door(Mutex::new(Some(sender))), DoorListener(receiver))
}

impl Door {
    /// Whether nobody can come in any more.
    #[must_use]
    pub fn is_retired(&self) -> bool {
        let sender = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sender.is_none()
    }
}

impl Backstage for Door {
    fn connect(&self) -> Result<Duplex> {
        let closed = |found: String| {
            Failure::new(
                Code::Backstage,
                "the simulated service does not answer",
                "start the simulated host anew",
            )
            .found(found)
        };
        let pipe = || io::pipe().map_err(|error| closed(error.to_string()));
        let ((to_service, from_channel), (to_channel, from_service)) = (pipe()?, pipe()?);
        let theirs = Duplex {
            reader: Box::new(to_service),
            writer: Box::new(from_service),
        };
        let sender = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = sender.as_ref().map(|sender| sender.send(theirs));
        match sent {
            Some(Ok(())) => Ok(Duplex {
                reader: Box::new(to_channel),
                writer: Box::new(from_channel),
            }),
            _ => Err(closed("it was retired".to_owned())),
        }
    }

    fn retire(&self) -> Result<()> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }
}

impl Listener for DoorListener {
    fn accept(&mut self) -> Result<Option<Duplex>> {
        Ok(self.0.recv().ok())
    }
}
