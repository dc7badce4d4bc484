//! WinRM: a shell on a Windows host over WS-Management, for hosts where only that
//! is open.
//!
//! It starts the agent, and from there on everything is the agent's: lines through
//! standard input and output, blobs as base64 lines into `casement-node receive`.
//! Nothing is ever said in clear: there is TLS, or every message is sealed with
//! the keys of the login, which is NTLM's or Kerberos's. NTLM is written out here;
//! Kerberos is what MIT's library makes of this machine's tickets, where it is.
//!
//! Why not the crate winrm-rs: the releases that seal NTLM ask for a newer Rust
//! than this workspace pins, and cargo then silently picks one that does not seal;
//! it copies files two kilobytes per PowerShell process; and it brings an HTTP
//! client of its own. What is needed here is seven fixed requests, one connection
//! at a time, and NTLM's published algorithms, with published examples to test
//! them by.

#[path = "winrm/response.rs"]
mod answer;
mod deliver;
mod envelope;
mod error;
mod kerberos;
mod login;
mod ntlm;
mod sealed;
mod session;
mod shell;
mod target;
mod tls;
#[path = "winrm/http.rs"]
mod wire;

pub use error::WinRmError;
pub use kerberos::{Identity, KerberosError, Ticket};
pub(crate) use session::Input;
pub use session::WinRmSession;
pub use target::{Login, Protection, Trust, WinRmTarget};
