//! Windows, through its own interfaces: files with access lists, the registry,
//! the Service Control Manager, the firewall, HNS, the IP helper. No PowerShell, no program
//! of Windows', and nothing that reads localized text.
//!
//! Each file implements one concern of [`crate::platform`], or is a piece that
//! several of them use. What cannot be shown without a real Windows is listed
//! in `WINDOWS.md`.

use std::path::PathBuf;

use casement_resource::Failure;

use crate::backstage::Backstage;
use crate::platform::Platform;
use crate::state::Layout;

mod adapter_settings;
mod adapters;
mod com;
mod command_line;
mod conditions;
mod dism;
mod downloads;
mod environment;
mod event_log;
mod facts;
mod failure;
mod features;
mod files;
mod firewall;
#[path = "windows/service_pipe.rs"]
mod gate;
mod hns;
mod host;
mod identity;
mod job;
mod layers;
mod network;
#[path = "windows/retry_timer.rs"]
mod patience;
mod pipe;
#[path = "windows/known_folders.rs"]
mod places;
mod programs;
mod registry;
mod replace;
#[path = "windows/status.rs"]
mod report;
mod routes;
mod scm;
mod security;
mod service;
mod services;
mod wide;
mod wmi;

/// This host.
#[derive(Debug)]
struct Windows {
    layout: Layout,
}

impl crate::platform::Kernel for Windows {}
impl crate::platform::Swaps for Windows {}
impl crate::platform::Packages for Windows {}
impl crate::platform::Units for Windows {}
impl crate::platform::Links for Windows {}

/// Where the state folder is unless told otherwise.
pub fn default_state_dir() -> PathBuf {
    places::program_data().join("casement")
}

pub use replace::patiently as rename;
pub use security::{check_standing, check_way};

/// The host, to look at and change.
pub fn platform(layout: &Layout) -> Box<dyn Platform> {
    Box::new(Windows {
        layout: layout.clone(),
    })
}

/// The way to the service `casement`.
pub fn backstage(layout: &Layout) -> Box<dyn Backstage> {
    Box::new(gate::Gate::new(layout))
}

/// The body of the service `casement`.
pub fn serve(layout: &Layout) -> Result<(), Failure> {
    service::run(layout)
}

#[cfg(feature = "testing")]
pub use report::direct::going_down as tell_service_that_host_goes_down;

/// The body of a service that runs a program of the node's.
pub fn host(layout: &Layout, name: &str) -> Result<(), Failure> {
    host::run(layout, name)
}
