//! Tests against simulated hosts over real SSH: single hosts and whole clusters.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod agent_client;
mod command_options;
mod connection_drops;
mod controller;
mod controller_kills;
mod controller_kills_by_stage;
mod demo;
mod doctor;
mod downloads;
mod failures;
mod fixture;
mod host_fixture;
mod interrupts;
mod json_documents;
mod log_file;
mod logs;
mod many_hosts;
mod mirror_fixture;
mod overlay;
mod plan_output;
mod pull_from_mirror;
mod read_only;
mod readme;
mod request_counts;
mod running_command;
mod secrets;
mod ssh_config;
mod stalling_proxy;
mod terminal;

#[path = "../shared/command.rs"]
mod command;
#[path = "../shared/json_output.rs"]
mod json_output;
#[path = "../shared/kill_point.rs"]
mod kill_point;
#[path = "../shared/memory.rs"]
mod memory;
#[path = "../shared/mirror.rs"]
mod mirror;
#[path = "../shared/mirror_server.rs"]
mod mirror_server;
#[path = "../shared/random.rs"]
mod random;
#[path = "../shared/registry.rs"]
mod registry;
#[path = "../shared/secret_search.rs"]
mod secret_search;
#[allow(dead_code, reason = "the transport tests use more of it")]
#[path = "../../../remote/tests/sessions/sshd.rs"]
mod sshd;
#[path = "../../../node/tests/channel/tls.rs"]
mod tls;
