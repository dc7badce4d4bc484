//! What a Windows node is made of.

mod network;
mod prepare;
mod programs;

pub use network::network;
pub use prepare::prepare;
pub(crate) use programs::names;

pub use crate::join::{BOOTSTRAP_TOKEN, join};
