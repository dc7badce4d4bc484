//! `casement lock` with local mirrors.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod failures;
mod local_mirror;
mod server;
mod web_mirror;
mod workspace;
