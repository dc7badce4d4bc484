//! What the controller and the agent say to each other: one message per line.
//!
//! [`line`] makes lines of messages and messages of lines; the messages are
//! [`ToAgent`] and [`ToController`]. The same lines go between the channel
//! process and the service `casement` on the host.

mod event;
mod line;
mod message;
mod pull;
mod receive;

pub use event::{Event, Outcome, RunKind, Tally, What};
pub use line::{Decoder, LIMIT, Line, LineError, PREFIX, encode};
pub use message::{
    Busy, HostFacts, InterfaceFacts, LockHolder, ObservedStep, OperatingSystem, PROTOCOL,
    RemoveWhat, ToAgent, ToController,
};
pub use pull::{Pull, PullProxy};
pub use receive::{FromReceiver, ToReceiver};
