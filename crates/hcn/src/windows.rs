//! The libraries themselves.
#![allow(unsafe_code, reason = "functions found by name in Windows' libraries")]

mod compute_network;
mod library;
mod text;
mod vmcompute;

pub(crate) use compute_network::{ComputeNetwork, Handle};
pub(crate) use vmcompute::{Vmcompute, destroy_layer};
