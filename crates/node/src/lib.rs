//! The node agent: observes a host, brings it to the state in a document, verifies
//! the result, and can undo all of it.
//!
//! [`platform`] is the interface to an operating system, [`kinds`] implements each
//! kind of resource on top of it, and [`engine`] orders the steps and keeps the
//! journal. [`channel`] talks to the controller, [`receive`] accepts blobs from it,
//! [`pull`] downloads them instead, and [`serve`] is the service that outlives the
//! connection.
//!
//! The agent knows nothing about clusters. Its only outgoing connections are to the
//! mirror that the controller names in a `pull`.

pub mod channel;
pub mod command;
pub mod engine;
#[cfg(any(windows, test))]
mod hns_documents;
mod inspect;
pub mod kinds;
mod log_rotation;
mod observe;
mod partial_blob;
pub mod platform;
pub mod pull;
pub mod receive;
pub mod serve;
pub mod service_client;
#[cfg(any(windows, test, feature = "testing"))]
pub mod shutdown;
pub mod state;

#[cfg(target_os = "linux")]
pub mod linux;
#[cfg(test)]
#[path = "../tests/shared/recorder.rs"]
#[expect(dead_code, reason = "the checks on Windows use the rest")]
mod recorder;
#[cfg(any(test, feature = "testing"))]
pub mod sim;
#[cfg(windows)]
mod windows;

/// The operating system that this agent is built for. Each one provides:
///
/// - `check_privileges() -> Result<(), Failure>`: this process may change the host,
///   and nobody else may change its executable
/// - `check_parent_dirs(&Path) -> Result<(), Failure>`: nobody else can replace a
///   path through one of its parent directories
/// - `default_state_dir() -> PathBuf`
/// - `rename(&Path, &Path) -> io::Result<()>`: renames a file of the state
///   directory; the target may exist and be open for reading
/// - `platform(&Layout) -> Box<dyn Platform>`
/// - `service_client(&Layout) -> Box<dyn ServiceClient>`: the client of the service
///   `casement`
/// - `serve(&Layout) -> Result<(), Failure>`: runs the service `casement` until it
///   is stopped
/// - `host(&Layout, &str) -> Result<(), Failure>`: runs the service host of a node
///   program
pub mod system {
    #[cfg(target_os = "linux")]
    pub use crate::linux::{
        check_parent_dirs, check_privileges, default_state_dir, host, platform, rename, serve,
        service_client,
    };
    #[cfg(all(windows, feature = "testing"))]
    pub use crate::windows::send_preshutdown;
    #[cfg(windows)]
    pub use crate::windows::{
        check_parent_dirs, check_privileges, default_state_dir, host, platform, rename, serve,
        service_client,
    };
}
