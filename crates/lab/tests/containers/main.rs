//! The lab's containers and the registry that their images come from.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests fail as tests do"
)]

mod host;
mod pod;
mod registry;
