//! The NTLM algorithms of the client, used by the server too; unit tests check them
//! against the published examples.

#[allow(dead_code, reason = "only the client uses all of it")]
#[path = "../../src/winrm/ntlm/crypto.rs"]
pub mod crypto;
#[allow(dead_code, reason = "only the client uses all of it")]
#[path = "../../src/winrm/ntlm/message.rs"]
pub mod message;
#[path = "../../src/winrm/ntlm/seal.rs"]
pub mod seal;
