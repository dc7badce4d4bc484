//! The casement binary over WinRM: simulated Windows hosts behind the server of the
//! transport tests, which is verified against pywinrm.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "tests fail by panicking"
)]

mod errors;
mod fixture;
mod kerberos_login;
mod lifecycle;
mod pull_from_mirror;
mod secrets;

#[path = "../shared/command.rs"]
mod command;
#[path = "../shared/memory.rs"]
mod memory;
#[path = "../shared/mirror.rs"]
mod mirror;
#[allow(dead_code, reason = "the tests over SSH use more of it")]
#[path = "../shared/mirror_server.rs"]
mod mirror_server;
#[path = "../shared/registry.rs"]
mod registry;
#[path = "../shared/secret_search.rs"]
mod secret_search;
#[allow(dead_code, reason = "the tests over SSH use more of it")]
#[path = "../../../node/tests/channel/tls.rs"]
mod tls;

#[path = "../../../remote/tests/winrm/authentication.rs"]
mod authentication;
#[allow(dead_code, reason = "the transport tests use more of it")]
#[path = "../../../remote/tests/winrm/host.rs"]
mod host;
#[path = "../../../remote/tests/winrm/kdc.rs"]
mod kdc;
#[path = "../../../remote/tests/winrm/kerberos.rs"]
mod kerberos;
#[path = "../../../remote/tests/winrm/ntlm.rs"]
mod ntlm;
#[path = "../../../remote/src/winrm/sealed.rs"]
mod sealed;
#[allow(dead_code, reason = "the transport tests use more of it")]
#[path = "../../../remote/tests/winrm/server.rs"]
mod server;
#[path = "../../../remote/tests/winrm/shell.rs"]
mod shell;
#[path = "../../../remote/tests/winrm/soap.rs"]
mod soap;
