//! The API side against a made-up server, and against a lab's real one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    missing_docs,
    reason = "tests fail by panicking"
)]

mod errors;
mod outside;
