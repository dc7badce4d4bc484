//! The agent: looks at a host, makes it what a document says, verifies that,
//! and can take all of it back.
//!
//! [`platform`] says what is asked of an operating system, [`kinds`] what each
//! kind of resource does with it, [`engine`] in which order and with which
//! records; [`channel`] speaks with the controller, [`receive`] takes blobs from
//! it, [`pull`] fetches them instead, [`serve`] is the service that outlives the
//! connection.
//!
//! It knows nothing of clusters, and opens no connection but to the mirror that the
//! controller names in a `pull`.

#[path = "service_client.rs"]
pub mod backstage;
pub mod channel;
pub mod command;
pub mod engine;
#[cfg(any(windows, test, feature = "testing"))]
pub mod going_down;
mod inspect;
pub mod kinds;
#[path = "observe.rs"]
mod observed;
#[path = "log_rotation.rs"]
mod old_logs;
#[path = "partial_blob.rs"]
mod part;
pub mod platform;
pub mod pull;
pub mod receive;
pub mod serve;
pub mod state;

#[cfg(target_os = "linux")]
pub mod linux;
#[cfg(any(test, feature = "testing"))]
#[path = "../tests/shared/recorder.rs"]
pub mod recorded;
#[cfg(any(test, feature = "testing"))]
pub mod sim;
#[cfg(windows)]
mod windows;

/// The system that this agent was built for. Both systems offer the same
/// functions:
///
/// - `check_standing() -> Result<(), Failure>`: whether this process may change
///   the host, and nobody else its program;
/// - `check_way(&Path) -> Result<(), Failure>`: whether nobody else can change
///   what is at a place, by a folder on the way to it;
/// - `default_state_dir() -> PathBuf`: where the state folder is unless told
///   otherwise;
/// - `rename(&Path, &Path) -> io::Result<()>`: gives a file of the state folder
///   its name, in the place of one that is there and may just be read;
/// - `platform(&Layout) -> Box<dyn Platform>`: the host, to look at and change;
/// - `backstage(&Layout) -> Box<dyn Backstage>`: the way to the service
///   `casement`;
/// - `serve(&Layout) -> Result<(), Failure>`: the body of that service, until
///   it is stopped;
/// - `host(&Layout, &str) -> Result<(), Failure>`: the body of a service that
///   runs a program of the node's.
pub mod system {
    #[cfg(target_os = "linux")]
    pub use crate::linux::{
        backstage, check_standing, check_way, default_state_dir, host, platform, rename, serve,
    };
    #[cfg(all(windows, feature = "testing"))]
    pub use crate::windows::tell_service_that_host_goes_down;
    #[cfg(windows)]
    pub use crate::windows::{
        backstage, check_standing, check_way, default_state_dir, host, platform, rename, serve,
    };
}
