//! The way from the channel process to the service `casement`, which outlives
//! it: what each system has to offer for that.

use std::io::{Read, Write};

use crate::platform::Result;

/// A local connection, both ways; each half can be used by its own thread.
/// Dropping both halves closes it.
pub struct Duplex {
    /// What the other side says.
    pub reader: Box<dyn Read + Send>,
    /// What is said to it.
    pub writer: Box<dyn Write + Send>,
}

impl std::fmt::Debug for Duplex {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Duplex")
    }
}

/// The channel's side.
pub trait Backstage: Send + Sync {
    /// Connects to the service, having installed and started it if need be.
    /// Checks that it is the service that answers, not somebody else.
    fn connect(&self) -> Result<Duplex>;

    /// Stops the service and takes its registration away; absent is fine.
    fn retire(&self) -> Result<()>;
}

/// The service's side.
pub trait Listener: Send {
    /// The next connection, from an administrator of this host; others are
    /// turned away inside. None when the service is told to stop.
    fn accept(&mut self) -> Result<Option<Duplex>>;
}
