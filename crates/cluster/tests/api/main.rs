//! The API side against a made-up server, against the lab's embedded one, and against
//! a lab's real one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    missing_docs,
    reason = "tests fail by panicking"
)]

mod both;
mod errors;
mod server;
