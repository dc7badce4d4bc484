//! The lab as a person uses it: the built program, real namespaces, real Wine.
//!
//! What needs Go (the control plane) is below `with_go`, so that it can be left
//! out where there is none.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on has failed"
)]

#[path = "lab_fixture.rs"]
mod machine;
#[path = "failures.rs"]
mod mishaps;
#[path = "windows_cli.rs"]
mod steering;
mod windows_hosts;
mod with_go;
#[path = "usage_errors.rs"]
mod wrong_use;

#[path = "../shared/random.rs"]
mod chance;
#[path = "../shared/secret_search.rs"]
mod search;
