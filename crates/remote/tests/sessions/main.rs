//! Sessions against an SSH server in this process, and against a lab's real one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    missing_docs,
    reason = "tests fail by panicking"
)]

mod channel;
mod connect;
#[path = "fake_server.rs"]
mod double;
mod files;
#[path = "fake_sftp.rs"]
mod files_double;
mod openssh;
mod outside;
#[path = "../shared/pe_header.rs"]
mod program;
mod sshd;
