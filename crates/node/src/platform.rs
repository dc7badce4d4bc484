//! The interface to an operating system: observe one thing, or make one change. One
//! small trait per concern, and [`Platform`] for all of them.
//!
//! Nothing here compares or decides. [`crate::kinds`] decides whether a change is
//! needed and what has to be recorded first. Every method returns a [`Failure`] with
//! the object's name, the values and a remedy. A method that makes no sense on a
//! system keeps its default, which returns [`Code::Unsupported`].

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::net::IpAddr;
use std::time::Duration;

use casement_resource::wire::{HostFacts, InterfaceFacts};
use casement_resource::{
    Access, AccessFacts, Code, Condition, ConditionFacts, DynamicPorts, DynamicPortsFacts, Failure,
    HostPath, InterfaceRef, ObservedAdapter, ObservedService, Protocol, RouteEntry,
    ServiceDefinition, StartType,
};
use ipnet::IpNet;

mod downloads;
mod linux;
mod windows;

pub use downloads::{Download, Downloads, OnData};
pub use linux::{Kernel, Links, Packages, Swaps, Units};
pub use windows::{
    Balancer, Environment, Features, Firewall, Hns, Identity, Layers, NewEndpoint, Registry,
};

pub type Result<T> = std::result::Result<T, Failure>;

pub trait Platform:
    Files
    + Environment
    + Registry
    + Services
    + Firewall
    + Features
    + Identity
    + Hns
    + Network
    + Conditions
    + Programs
    + Downloads
    + Layers
    + Kernel
    + Swaps
    + Packages
    + Units
    + Links
    + Send
    + Sync
{
    fn facts(&self) -> Result<HostFacts>;

    /// Writes to the system log, where the host has one. Failures are ignored.
    fn notice(&self, level: Level, text: &str) {
        // systemd stores the stderr of a service in its journal.
        eprintln!("{level}: {text}");
    }

    /// Whether the host exists in memory only. The state directory is on disk in any
    /// case.
    fn is_simulated(&self) -> bool {
        false
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Information,
    Warning,
    Error,
}

impl fmt::Display for Level {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Information => "information",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// A file system entry. Links are never followed: a link is [`EntryKind::Other`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub kind: EntryKind,
    pub access: AccessFacts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    File,
    Directory,
    /// A link, a reparse point, a device.
    Other,
}

pub trait Files {
    /// `None` if nothing exists at the path.
    fn entry(&self, path: &HostPath) -> Result<Option<Entry>>;

    fn open(&self, path: &HostPath) -> Result<Box<dyn Read>>;

    /// Sorted names.
    fn list(&self, path: &HostPath) -> Result<Vec<String>>;

    /// Creates one directory, which must not exist; its parent must.
    fn create_directory(&self, path: &HostPath, access: Access) -> Result<()>;

    /// Writes or replaces a file atomically; durable on return. The parent directory
    /// must exist. The executable of a running program can be replaced. With
    /// [`Access::Inherited`] a replaced file keeps its access.
    fn write(&self, path: &HostPath, content: &mut dyn Read, options: WriteOptions) -> Result<()>;

    /// The target of a symbolic link; `None` if the path is something else or does
    /// not exist.
    fn read_link(&self, path: &HostPath) -> Result<Option<String>> {
        Err(unsupported(&format!("symbolic link `{path}`")))
    }

    /// Creates or replaces a symbolic link atomically; the parent directory must
    /// exist.
    fn create_symlink(&self, path: &HostPath, _target: &str) -> Result<()> {
        Err(unsupported(&format!("symbolic link `{path}`")))
    }

    /// Restricts access to a path; for a directory, also to everything created in it
    /// later.
    fn set_access(&self, path: &HostPath, access: Access) -> Result<()>;

    /// From [`AccessFacts::descriptor`].
    fn restore_access(&self, path: &HostPath, descriptor: &str) -> Result<()>;

    /// Deletes a file or a link (not its target); succeeds if it is absent.
    fn remove_file(&self, path: &HostPath) -> Result<()>;

    /// Deletes a directory if it is empty; returns whether it is gone.
    fn remove_empty_directory(&self, path: &HostPath) -> Result<bool>;

    /// Deletes a directory and its contents without following links; succeeds if it
    /// is absent.
    fn remove_tree(&self, path: &HostPath) -> Result<()>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteOptions {
    pub access: Access,
    /// Sets the executable bits on Linux.
    pub executable: bool,
}

/// A service of casement runs `casement-node host NAME`; its definition is in the
/// state directory ([`crate::state::Layout::service_file`]).
pub trait Services {
    /// `None` if there is no such service.
    fn service(&self, name: &str) -> Result<Option<ObservedService>>;

    /// Everything that [`restore_service`](Self::restore_service) needs, including
    /// whether the service runs; `None` if there is no such service. Contains no
    /// secret.
    fn save_service(&self, name: &str) -> Result<Option<serde_json::Value>>;

    /// Creates or updates the registration and writes the definition; durable on
    /// return. Does not start the service.
    fn install_service(&self, definition: &ServiceDefinition) -> Result<()>;

    /// Starts a service and waits until it runs; if it stops instead, fails with the
    /// end of its log. Succeeds if it already runs.
    fn start_service(&self, name: &str) -> Result<()>;

    /// Sets the start type of a service that casement does not own.
    fn set_service_start(&self, name: &str, _start: StartType) -> Result<()> {
        Err(unsupported(&format!("start type of the service `{name}`")))
    }

    /// Stops a service after its running dependents; returns the names of those in
    /// the order in which they were stopped. Succeeds if the service is stopped or
    /// absent.
    fn stop_service(&self, name: &str) -> Result<Vec<String>>;

    /// Deletes a stopped service and its definition; succeeds if it is absent.
    fn delete_service(&self, name: &str) -> Result<()>;

    /// Restores what [`save_service`](Self::save_service) returned.
    fn restore_service(&self, name: &str, saved: &serde_json::Value) -> Result<()>;
}

pub trait Network {
    fn interfaces(&self) -> Result<Vec<InterfaceFacts>>;

    /// The index of an interface; `None` if it does not exist. For
    /// [`InterfaceRef::HnsNetwork`] this is the virtual adapter of the host on that
    /// network: the one with the host endpoint, else the one with the management
    /// address.
    fn interface(&self, reference: &InterfaceRef) -> Result<Option<u32>>;

    /// The settings of the adapter with an address; `None` if no adapter has it.
    fn adapter(&self, address: IpAddr) -> Result<Option<ObservedAdapter>> {
        Err(unsupported(&format!(
            "settings of the adapter with {address}"
        )))
    }

    /// Restores the settings that the adapter with this address has lost.
    fn restore_adapter(&self, address: IpAddr, _settings: &ObservedAdapter) -> Result<()> {
        Err(unsupported(&format!(
            "settings of the adapter with {address}"
        )))
    }

    fn routes(&self, destination: &IpNet) -> Result<Vec<RouteEntry>>;

    /// The route must not exist.
    fn add_route(&self, route: &RouteEntry) -> Result<()>;

    /// Succeeds if the route is absent.
    fn delete_route(&self, route: &RouteEntry) -> Result<()>;

    /// `None` if there is no such interface.
    fn forwarding(&self, interface: &InterfaceRef) -> Result<Option<bool>>;

    fn set_forwarding(&self, interface: &InterfaceRef, on: bool) -> Result<()>;

    /// The port range for outgoing connections.
    fn dynamic_ports(&self, protocol: Protocol) -> Result<DynamicPortsFacts> {
        Err(unsupported(&format!("dynamic {protocol} ports")))
    }

    fn set_dynamic_ports(&self, ports: &DynamicPorts) -> Result<()> {
        Err(unsupported(&format!("dynamic {} ports", ports.protocol)))
    }
}

pub trait Conditions {
    fn condition(&self, condition: &Condition) -> Result<ConditionFacts>;

    /// Sleeps between two evaluations of a condition. The simulated host only
    /// advances its clock.
    fn pause(&self, duration: Duration) {
        std::thread::sleep(duration);
    }
}

/// A program that runs to completion, without a shell and without a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The executable and its arguments; never contains a secret.
    pub arguments: Vec<String>,
    /// Added to the agent's own environment.
    pub environment: BTreeMap<String, String>,
    /// Working directory.
    pub working_dir: HostPath,
    /// The program and its child processes are killed after this time.
    pub timeout: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramExit {
    /// `None` if the program was killed.
    pub code: Option<i32>,
    /// The last 64 KiB of stdout and stderr.
    pub output: String,
}

pub trait Programs {
    /// Runs a program and waits until it exits.
    fn run(&self, program: &Program) -> Result<ProgramExit>;
}

/// An operation that this operating system does not support.
#[must_use]
pub fn unsupported(what: &str) -> Failure {
    Failure::new(
        Code::Unsupported,
        format!("{what}: not supported on {}", std::env::consts::OS),
        "check the `os` of this host in the cluster file",
    )
}
