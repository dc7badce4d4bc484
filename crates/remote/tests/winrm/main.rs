//! WinRM against a server in this process, which serves WS-Management over HTTP with
//! sealed NTLM and over TLS. The server is verified with pywinrm, an independent client,
//! so that client and server cannot share a mistake.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    missing_docs,
    reason = "tests fail by panicking"
)]

mod agent;
mod authentication;
mod bare_host;
mod connect;
mod host;
#[allow(dead_code, reason = "the tests of the casement binary use more of it")]
mod kdc;
mod kerberos;
mod ntlm;
#[path = "../shared/pe_header.rs"]
mod pe_header;
mod pywinrm;
#[path = "../../src/winrm/sealed.rs"]
mod sealed;
mod server;
mod shell;
mod soap;
