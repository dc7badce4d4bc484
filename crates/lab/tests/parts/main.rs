//! The parts that a lab is made of, each on its own: containers, the registry
//! of their images, the wire behind HNS, and the gap DLLs under Wine.
//!
//! What needs Go is below `with_go`, so that it can be left out.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests fail as tests do"
)]

mod hns_wire;
mod host;
mod pod;
mod registry;

mod with_go {
    mod gap_dlls;
    mod hns_outside;
}
