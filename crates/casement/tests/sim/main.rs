//! Simulated hosts over real SSH, alone and in whole clusters.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on says where"
)]

mod bad_cases;
mod demo;
mod doctor;
mod downloads;
mod ground;
mod hosts;
mod kills;
mod logs;
mod many;
mod mirrored;
mod overlay;
mod plans;
mod read_only;
mod shop;
mod verbs;

#[path = "../shared/chance.rs"]
mod chance;
#[path = "../shared/mirror.rs"]
mod mirror;
#[path = "../shared/publisher.rs"]
mod publisher;
#[path = "../shared/typed.rs"]
mod typed;
