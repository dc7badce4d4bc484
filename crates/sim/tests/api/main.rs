//! The embedded API server as clients see it: kubectl, and HTTP by hand. What it
//! answers to casement itself is in `crates/cluster/tests/api`.
//!
//! What needs Go is below `with_go`, so that it can be left out.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests fail as tests do"
)]

mod client;
mod joining;
mod watching;

mod with_go {
    mod kubectl;
}
