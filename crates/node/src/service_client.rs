//! The local connection between the channel process and the service `casement`,
//! which outlives it.

use std::io::{Read, Write};

use crate::platform::Result;

/// A local connection. Each half can be used by its own thread; dropping both closes
/// it.
pub struct Duplex {
    pub reader: Box<dyn Read + Send>,
    pub writer: Box<dyn Write + Send>,
}

impl std::fmt::Debug for Duplex {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Duplex")
    }
}

pub trait ServiceClient: Send + Sync {
    /// Connects to the service; installs and starts it first if needed. Verifies
    /// that the peer really is the service.
    fn connect(&self) -> Result<Duplex>;

    /// Stops the service and removes its registration; succeeds if it is absent.
    fn retire(&self) -> Result<()>;
}

pub trait Listener: Send {
    /// The next connection from an administrator of this host; others are rejected.
    /// `None` when the service is stopped.
    fn accept(&mut self) -> Result<Option<Duplex>>;
}
