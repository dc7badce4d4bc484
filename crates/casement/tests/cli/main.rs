//! Commands that need neither hosts nor a cluster, and the texts of all of them.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod catalog;
mod helps;
mod hns_documents;
mod init;
mod lint;
mod messages;
mod render;
mod sources;
mod step_ids;

#[path = "../shared/json_output.rs"]
mod json_output;
