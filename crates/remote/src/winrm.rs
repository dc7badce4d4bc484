//! WinRM: a shell on a Windows host over WS-Management, for hosts without SSH.
//!
//! It starts the agent, which does everything else: messages over standard input and
//! output, blobs as base64 lines into `casement-node receive`. Nothing is sent in clear
//! text: either TLS is used, or every message is sealed with the session key of the
//! login (NTLM or Kerberos). NTLM is implemented here; Kerberos uses MIT's library if it
//! is installed.
//!
//! Why not the crate winrm-rs: the releases that seal NTLM need a newer Rust than this
//! workspace pins, and cargo then silently picks one that does not seal; it copies files
//! two kilobytes per PowerShell process; and it has its own HTTP client. Needed here are
//! seven fixed requests, one connection at a time, and NTLM's published algorithms,
//! which have published test vectors.

mod deliver;
mod envelope;
mod error;
mod http;
mod kerberos;
mod login;
mod ntlm;
mod response;
mod sealed;
mod session;
mod shell;
mod target;
mod tls;

pub use error::{CertificateError, WinRmError};
pub use kerberos::{Identity, KerberosError, Ticket};
pub(crate) use session::Input;
pub use session::WinRmSession;
pub use target::{Login, Protection, Trust, WinRmTarget};
