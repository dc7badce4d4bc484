//! The API side against a fake server, the embedded API server, and a lab's real one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    missing_docs,
    reason = "tests fail by panicking"
)]

mod both;
mod errors;
mod server;
