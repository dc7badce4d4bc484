//! The embedded API server as seen by kubectl and a plain HTTP client. Its behavior towards
//! casement itself is tested in `crates/cluster/tests/api`.
//!
//! Tests that need Go are below `with_go`, so that they can be filtered.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "test helpers may panic"
)]

mod client;
mod joining;
mod watching;

mod with_go {
    mod kubectl;
}
