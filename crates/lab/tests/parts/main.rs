//! Tests of single parts of the lab: containers, the image registry, the network behind
//! HNS, and the gap DLLs under Wine.
//!
//! Tests that need Go are in `with_go`, so that they can be skipped.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "test helpers panic like tests"
)]

mod hns_wire;
mod host;
mod pod;
mod registry;

mod with_go {
    mod gap_dlls;
    mod hns_outside;
}
