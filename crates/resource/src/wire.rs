//! The protocol between the controller and the agent: one message per line.
//!
//! [`line`] encodes and decodes; the messages are [`ToAgent`] and [`ToController`].
//! The channel process and the service `casement` on the host use the same protocol.

mod event;
mod line;
mod message;
mod pull;
mod receive;

pub use event::{Event, EventKind, Outcome, RunKind, Tally};
pub use line::{Decoder, LIMIT, Line, LineError, PREFIX, encode};
pub use message::{
    Busy, HostFacts, InterfaceFacts, LockHolder, ObservedStep, OperatingSystem, PROTOCOL,
    RemoveScope, ToAgent, ToController,
};
pub use pull::{Pull, PullProxy};
pub use receive::{FromReceiver, ToReceiver};
