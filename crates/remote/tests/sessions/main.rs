//! SSH sessions against a fake server in this process, OpenSSH, and a lab.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    missing_docs,
    reason = "tests fail by panicking"
)]

mod channel;
mod connect;
mod fake_server;
mod fake_sftp;
mod files;
mod openssh;
mod outside;
#[path = "../shared/pe_header.rs"]
mod pe_header;
mod sshd;
