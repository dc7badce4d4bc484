//! Simulated hosts over real SSH, alone and in whole clusters.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on says where"
)]

#[path = "ssh_config.rs"]
mod aliases;
#[path = "running_command.rs"]
mod at_work;
#[path = "failures.rs"]
mod bad_cases;
#[path = "connection_drops.rs"]
mod cuts;
mod demo;
mod doctor;
mod downloads;
#[path = "fixture.rs"]
mod ground;
#[path = "agent_client.rs"]
mod hosts;
#[path = "controller_kills.rs"]
mod kills;
mod log_file;
mod logs;
#[path = "many_hosts.rs"]
mod many;
#[path = "pull_from_mirror.rs"]
mod mirrored;
mod overlay;
#[path = "plan_output.rs"]
mod plans;
mod read_only;
#[path = "host_fixture.rs"]
mod rig;
mod secrets;
mod shop;
#[path = "controller_kills_by_stage.rs"]
mod stages;
#[path = "interrupts.rs"]
mod stops;
#[path = "command_options.rs"]
mod verbs;
#[path = "stalling_proxy.rs"]
mod wire;

#[path = "../shared/random.rs"]
mod chance;
#[path = "../shared/memory.rs"]
mod memory;
#[path = "../shared/mirror.rs"]
mod mirror;
#[path = "../shared/mirror_server.rs"]
mod publisher;
#[path = "../shared/registry.rs"]
mod registry;
#[path = "../shared/secret_search.rs"]
mod search;
#[allow(dead_code, reason = "the transport's own tests use more of it")]
#[path = "../../../remote/tests/sessions/sshd.rs"]
mod sshd;
#[path = "../../../node/tests/channel/tls.rs"]
mod tls;
#[path = "../shared/command.rs"]
mod typed;
