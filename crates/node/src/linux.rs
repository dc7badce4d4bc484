//! Linux: files and kernel values through the kernel's own interfaces, the rest
//! through the system's own programs with output meant for programs; services
//! and units through systemd where it is process 1.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use casement_resource::wire::HostFacts;
use casement_resource::{Code, Failure};

use crate::backstage::Backstage;
use crate::platform::{Platform, Result};
use crate::serve::{Life, serve as serve_until};
use crate::state::Layout;

mod conditions;
mod downloads;
mod facts;
mod files;
#[path = "linux/system_root.rs"]
mod ground;
mod kernel;
mod links;
mod logs;
mod network;
mod packages;
mod programs;
#[path = "linux/service_socket.rs"]
mod service_door;
mod services;
#[path = "linux/trust.rs"]
mod standing;
mod swaps;
mod systemd;
mod units;

#[cfg(test)]
#[path = "linux/fake_host.rs"]
mod stand_ins;

use ground::Ground;
pub use standing::{check_standing, check_way};
pub use std::fs::rename;

/// A Linux host.
#[derive(Debug)]
pub struct Linux {
    layout: Layout,
    ground: Ground,
}

impl Linux {
    fn new(layout: &Layout) -> Self {
        Self {
            layout: layout.clone(),
            ground: Ground::default(),
        }
    }
}

impl Platform for Linux {
    fn facts(&self) -> Result<HostFacts> {
        facts::facts(self)
    }
}

impl crate::platform::Environment for Linux {}
impl crate::platform::Registry for Linux {}
impl crate::platform::Features for Linux {}
impl crate::platform::Firewall for Linux {}
impl crate::platform::Hns for Linux {}
impl crate::platform::Identity for Linux {}
impl crate::platform::Layers for Linux {}

/// Where the state folder is unless told otherwise.
#[must_use]
pub fn default_state_dir() -> PathBuf {
    PathBuf::from("/var/lib/casement")
}

/// The host.
#[must_use]
pub fn platform(layout: &Layout) -> Box<dyn Platform> {
    Box::new(Linux::new(layout))
}

/// The way to the service `casement`.
#[must_use]
pub fn backstage(layout: &Layout) -> Box<dyn Backstage> {
    Box::new(service_door::Door::new(layout.clone()))
}

/// The body of the service `casement`.
pub fn serve(layout: &Layout) -> Result<()> {
    let platform = Linux::new(layout);
    layout.prepare(&platform)?;
    let quit = Arc::new(AtomicBool::new(false));
    let Some(listener) = service_door::listen(layout, Arc::clone(&quit))? else {
        return Ok(());
    };
    // Where systemd keeps the service, systemd ends it.
    let life = if platform.ground.has_systemd() {
        logs::look_after(layout);
        Life::UntilStopped
    } else {
        Life::UntilIdle(quit)
    };
    serve_until(Arc::new(platform), layout, Box::new(listener), life)
}

/// Services of Linux need no host of casement's: systemd is one.
pub fn host(_layout: &Layout, name: &str) -> Result<()> {
    Err(Failure::new(
        Code::Unsupported,
        format!("`host {name}`: on Linux systemd runs the program itself"),
        "start the service with systemctl",
    ))
}

/// The failure of a call of the operating system.
fn system_failure(what: impl Into<String>, error: &std::io::Error) -> Failure {
    let remedy = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free space there, then apply again",
        ErrorKind::ReadOnlyFilesystem => "mount it writable, then apply again",
        ErrorKind::ResourceBusy | ErrorKind::ExecutableFileBusy => {
            "end the program that uses it (`fuser -v` names it), then apply again"
        }
        _ => "check that casement runs as root, and what the system's log says",
    };
    Failure::new(Code::System, what, remedy).found(error.to_string())
}
