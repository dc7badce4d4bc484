//! The Windows libraries.
#![allow(
    unsafe_code,
    reason = "functions of Windows libraries, looked up by name"
)]

mod compute_network;
mod library;
mod text;
mod vmcompute;

pub(crate) use compute_network::{ComputeNetwork, Handle};
pub(crate) use vmcompute::{Vmcompute, destroy_layer};
