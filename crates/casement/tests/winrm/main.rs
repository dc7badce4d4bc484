//! The whole job over WinRM: the program as people type it, simulated Windows hosts,
//! and before them the server that the tests of the transport use, which pywinrm has
//! been let loose on.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test that cannot go on says where"
)]

#[path = "fixture.rs"]
mod ground;
mod mirrored;
#[path = "errors.rs"]
mod screens;
mod secrets;
#[path = "kerberos_login.rs"]
mod tickets;
#[path = "lifecycle.rs"]
mod whole;

#[path = "../shared/memory.rs"]
mod memory;
#[path = "../shared/mirror.rs"]
mod mirror;
#[allow(dead_code, reason = "the tests over SSH use more of it")]
#[path = "../shared/mirror_server.rs"]
mod publisher;
#[path = "../shared/registry.rs"]
mod registry;
#[path = "../shared/secret_search.rs"]
mod search;
#[allow(dead_code, reason = "the tests over SSH use more of it")]
#[path = "../../../node/tests/channel/tls.rs"]
mod tls;
#[path = "../shared/command.rs"]
mod typed;

#[path = "../../../remote/tests/winrm/authentication.rs"]
mod guard;
#[allow(dead_code, reason = "the transport's own tests use more of it")]
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
#[allow(dead_code, reason = "the transport's own tests use more of it")]
#[path = "../../../remote/tests/winrm/server.rs"]
mod server;
#[path = "../../../remote/tests/winrm/shell.rs"]
mod shell;
#[path = "../../../remote/tests/winrm/soap.rs"]
mod soap;
