//! Windows, through its native APIs: files with ACLs, the registry, the Service
//! Control Manager, the firewall, HNS, the IP helper. No PowerShell, no other
//! program of Windows, and no parsing of localized text.
//!
//! Each file implements one concern of [`crate::platform`] or is shared by several
//! of them. `WINDOWS.md` lists what can only be tested on a real Windows.

use std::path::PathBuf;

use casement_resource::Failure;

use crate::platform::Platform;
use crate::service_client::ServiceClient;
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
mod hns;
mod host;
mod identity;
mod job;
mod known_folders;
mod layers;
mod network;
mod pipe;
mod programs;
mod registry;
mod replace;
mod retry_timer;
mod routes;
mod scm;
mod security;
mod service;
mod service_pipe;
mod services;
mod status;
mod wide;
mod wmi;

#[derive(Debug)]
struct Windows {
    layout: Layout,
}

impl crate::platform::Kernel for Windows {}
impl crate::platform::Swaps for Windows {}
impl crate::platform::Packages for Windows {}
impl crate::platform::Units for Windows {}
impl crate::platform::Links for Windows {}

pub fn default_state_dir() -> PathBuf {
    known_folders::program_data().join(casement_resource::host_paths::STATE_FOLDER)
}

pub use replace::rename_with_retry as rename;
pub use security::{check_parent_dirs, check_privileges};

pub fn platform(layout: &Layout) -> Box<dyn Platform> {
    Box::new(Windows {
        layout: layout.clone(),
    })
}

pub fn service_client(layout: &Layout) -> Box<dyn ServiceClient> {
    Box::new(service_pipe::PipeClient::new(layout))
}

pub fn serve(layout: &Layout) -> Result<(), Failure> {
    service::run(layout)
}

#[cfg(feature = "testing")]
pub use status::testing::send_preshutdown;

pub fn host(layout: &Layout, name: &str) -> Result<(), Failure> {
    host::run(layout, name)
}
