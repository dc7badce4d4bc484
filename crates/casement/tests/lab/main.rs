//! The lab as a person uses it: the built program, real namespaces, real Wine.
//!
//! What needs Go (the control plane) is below `with_go`, so that it can be left
//! out where there is none.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on has failed"
)]

mod machine;
mod mishaps;
mod steering;
mod windows_hosts;
mod with_go;
mod wrong_use;

#[path = "../shared/chance.rs"]
mod chance;
#[path = "../shared/search.rs"]
mod search;
