//! Commands that need neither hosts nor a cluster, and the texts of all of them.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod catalog;
mod init;
mod lint;
mod messages;
mod render;

#[path = "../shared/json_output.rs"]
mod json_output;
