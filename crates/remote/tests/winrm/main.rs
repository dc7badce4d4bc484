//! WinRM against a server in this process, which speaks WS-Management over HTTP
//! with sealed NTLM and over TLS; and that server against pywinrm, which somebody
//! else wrote: client and server cannot be wrong together.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    missing_docs,
    reason = "tests fail by panicking"
)]

mod agent;
mod connect;
#[path = "authentication.rs"]
mod guard;
mod host;
#[allow(dead_code, reason = "tests of whole runs use more of it")]
mod kdc;
mod kerberos;
#[path = "bare_host.rs"]
mod machine;
mod ntlm;
#[path = "../shared/pe_header.rs"]
mod program;
mod pywinrm;
#[path = "../../src/winrm/sealed.rs"]
mod sealed;
mod server;
mod shell;
mod soap;
