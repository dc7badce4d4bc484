//! The service of a simulated host, which is a thread of this process.

use std::io;
use std::sync::{Mutex, PoisonError, mpsc};

use casement_resource::{Code, Failure};

use crate::platform::Result;
use crate::service_client::{Duplex, Listener, ServiceClient};

#[derive(Debug)]
pub struct SimService(Mutex<Option<mpsc::Sender<Duplex>>>);

#[derive(Debug)]
pub struct SimServiceListener(mpsc::Receiver<Duplex>);

#[must_use]
pub fn sim_service() -> (SimService, SimServiceListener) {
    let (sender, receiver) = mpsc::channel();
    (
        SimService(Mutex::new(Some(sender))),
        SimServiceListener(receiver),
    )
}

impl SimService {
    #[must_use]
    pub fn is_retired(&self) -> bool {
        let sender = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sender.is_none()
    }
}

impl ServiceClient for SimService {
    fn connect(&self) -> Result<Duplex> {
        let closed = |found: String| {
            Failure::new(
                Code::ServiceUnreachable,
                "the simulated service does not respond",
                "restart the simulated host",
            )
            .found(found)
        };
        let pipe = || io::pipe().map_err(|error| closed(error.to_string()));
        let ((to_service, from_channel), (to_channel, from_service)) = (pipe()?, pipe()?);
        let service_side = Duplex {
            reader: Box::new(to_service),
            writer: Box::new(from_service),
        };
        let sender = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = sender.as_ref().map(|sender| sender.send(service_side));
        match sent {
            Some(Ok(())) => Ok(Duplex {
                reader: Box::new(to_channel),
                writer: Box::new(from_channel),
            }),
            _ => Err(closed("the service was retired".to_owned())),
        }
    }

    fn retire(&self) -> Result<()> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }
}

impl Listener for SimServiceListener {
    fn accept(&mut self) -> Result<Option<Duplex>> {
        Ok(self.0.recv().ok())
    }
}
