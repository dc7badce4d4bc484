//! Simulated hosts over real SSH, alone and in whole clusters.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on says where"
)]

mod aliases;
mod at_work;
mod bad_cases;
mod cuts;
mod demo;
mod doctor;
mod downloads;
mod ground;
mod hosts;
mod kills;
mod log_file;
mod logs;
mod many;
mod mirrored;
mod overlay;
mod plans;
mod read_only;
mod rig;
mod secrets;
mod shop;
mod stages;
mod stops;
mod verbs;
mod wire;

#[path = "../shared/chance.rs"]
mod chance;
#[path = "../shared/memory.rs"]
mod memory;
#[path = "../shared/mirror.rs"]
mod mirror;
#[path = "../shared/publisher.rs"]
mod publisher;
#[path = "../shared/registry.rs"]
mod registry;
#[path = "../shared/search.rs"]
mod search;
#[allow(dead_code, reason = "the transport's own tests use more of it")]
#[path = "../../../remote/tests/sessions/sshd.rs"]
mod sshd;
#[path = "../../../node/tests/channel/tls.rs"]
mod tls;
#[path = "../shared/typed.rs"]
mod typed;
