//! Linux: files and kernel values through kernel interfaces, the rest through system
//! programs with machine-readable output; services and units through systemd if it is
//! process 1.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use casement_resource::wire::HostFacts;
use casement_resource::{Code, Failure};

use crate::platform::{Platform, Result};
use crate::serve::{Lifetime, serve as serve_until};
use crate::service_client::ServiceClient;
use crate::state::Layout;

mod conditions;
mod downloads;
mod facts;
mod files;
mod kernel;
mod links;
mod logs;
mod network;
mod packages;
mod programs;
mod service_socket;
mod services;
mod swaps;
mod system_root;
mod systemd;
mod trust;
mod units;

#[cfg(test)]
mod fake_host;

pub use std::fs::rename;
use system_root::SystemRoot;
pub use trust::{check_parent_dirs, check_privileges};

#[derive(Debug)]
pub struct Linux {
    layout: Layout,
    root: SystemRoot,
}

impl Linux {
    fn new(layout: &Layout) -> Self {
        Self {
            layout: layout.clone(),
            root: SystemRoot::default(),
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

#[must_use]
pub fn default_state_dir() -> PathBuf {
    PathBuf::from(casement_resource::host_paths::LINUX_STATE)
}

#[must_use]
pub fn platform(layout: &Layout) -> Box<dyn Platform> {
    Box::new(Linux::new(layout))
}

#[must_use]
pub fn service_client(layout: &Layout) -> Box<dyn ServiceClient> {
    Box::new(service_socket::SocketClient::new(layout.clone()))
}

/// The main function of the service `casement`.
pub fn serve(layout: &Layout) -> Result<()> {
    let platform = Linux::new(layout);
    layout.prepare(&platform)?;
    let quit = Arc::new(AtomicBool::new(false));
    let Some(listener) = service_socket::listen(layout, Arc::clone(&quit))? else {
        return Ok(());
    };
    // Under systemd, systemd stops the service.
    let lifetime = if platform.root.has_systemd() {
        logs::rotate_in_background(layout);
        Lifetime::UntilStopped
    } else {
        Lifetime::UntilIdle(quit)
    };
    serve_until(Arc::new(platform), layout, Box::new(listener), lifetime)
}

/// Not needed on Linux: systemd runs the programs.
pub fn host(_layout: &Layout, name: &str) -> Result<()> {
    Err(Failure::new(
        Code::Unsupported,
        format!("`host {name}` is not supported on Linux: systemd runs the program itself"),
        "start the service with systemctl",
    ))
}

fn system_failure(what: impl Into<String>, error: &std::io::Error) -> Failure {
    let remedy = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "free up disk space, then run `casement apply` again"
        }
        ErrorKind::ReadOnlyFilesystem => {
            "remount the file system as writable, then run `casement apply` again"
        }
        ErrorKind::ResourceBusy | ErrorKind::ExecutableFileBusy => {
            "stop the program that uses it (`fuser -v` shows it), then run `casement apply` again"
        }
        _ => "check that casement runs as root, and check the system log",
    };
    Failure::new(Code::System, what, remedy).found(error.to_string())
}
