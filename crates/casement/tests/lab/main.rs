//! The lab end to end: the built binary, real namespaces, real Wine.
//!
//! Tests that need Go (for the control plane) are in `with_go`, so that they can be
//! skipped where Go is not installed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests fail by panicking"
)]

mod failures;
mod lab_fixture;
mod lab_processes;
mod usage_errors;
mod windows_cli;
mod windows_hosts;
mod with_go;

#[path = "../shared/kill_point.rs"]
mod kill_point;
#[path = "../shared/random.rs"]
mod random;
#[path = "../shared/secret_search.rs"]
mod secret_search;
