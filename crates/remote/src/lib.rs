//! Sessions with hosts over SSH (strict host keys, files over SFTP) and WinRM (TLS or
//! sealed messages): commands, delivery of the agent, its control channel, and
//! reconnecting.
//!
//! Payloads are opaque here: messages of [`casement_resource::wire`], and blobs named
//! by their SHA-256.
//!
//! ```no_run
//! # async fn example() -> Result<(), casement_remote::RemoteError> {
//! use casement_remote::{HostEndpoint, Target, load_key};
//!
//! let key = load_key("/home/me/.ssh/id_ed25519".as_ref())?;
//! let target = Target::new("windows01", "10.3.0.4", "Administrator", key, "known_hosts".into());
//! let connection = HostEndpoint::from(target).connect().await?;
//! if let Some(system) = connection.system().await? {
//!     println!("{:?}", system.os);
//! }
//! # Ok(())
//! # }
//! ```

mod agent;
mod channel;
mod command;
mod credential;
mod error;
mod hop;
mod host_key;
mod key;
mod known_hosts;
mod login;
mod paths;
mod process;
mod reconnect;
mod session;
mod sftp;
mod target;
mod transport;
pub mod winrm;

pub use agent::{Agent, AgentHome, Delivery, Opened};
pub use casement_resource::Sha256;
pub use channel::{Channel, ChannelEnd, Incoming};
pub use command::{HostOs, HostSystem, Shell};
pub use credential::{Credential, load_certificate};
pub use error::{
    AgentError, ConnectionError, FileError, HostKeyError, HostLabel, LoginError, RemoteError,
};
pub use hop::Hop;
pub use key::{decode_key, is_encrypted, load_encrypted_key, load_key, load_public_key};
pub use known_hosts::{KnownHosts, Verdict};
pub use paths::{AgentPaths, RemotePath, hash_file};
pub use process::{Output, Process, ProcessEvent};
pub use reconnect::{Attempt, Reconnect};
pub use russh::keys::{PrivateKey, PublicKey};
pub use session::Session;
pub use sftp::{FileStat, Sftp, TransferProgress};
pub use target::{HostKeyPolicy, NewKey, NewKeys, Target};
pub use transport::{Connection, HostEndpoint};
