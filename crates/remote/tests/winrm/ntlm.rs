//! The algorithms of NTLM, which both sides share: the published examples are in
//! their own tests. What a server does with them is in [`crate::guard`].

#[allow(dead_code, reason = "the client's half")]
#[path = "../../src/winrm/ntlm/crypto.rs"]
pub mod crypto;
#[allow(dead_code, reason = "the client's half")]
#[path = "../../src/winrm/ntlm/message.rs"]
pub mod message;
#[path = "../../src/winrm/ntlm/seal.rs"]
pub mod seal;
