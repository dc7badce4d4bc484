//! What the agent asks of an operating system: to see one thing, or to make
//! one change. One small trait per concern, [`Platform`] for all of them.
//!
//! What a change means, what has to be recorded before it, and whether it is
//! needed at all, is decided above ([`crate::kinds`]); nothing here compares.
//! Every method returns a [`Failure`] with the thing's name, the values and a
//! remedy. A method that a system has no meaning for keeps its default, which
//! says so.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::net::IpAddr;
use std::time::Duration;

use casement_resource::wire::{HostFacts, InterfaceFacts};
use casement_resource::{
    Access, AccessFacts, AdapterSeen, Code, Condition, ConditionFacts, DynamicPorts,
    DynamicPortsFacts, Failure, HostPath, InterfaceRef, Protocol, RouteEntry, ServiceDefinition,
    ServiceSeen, StartType,
};
use ipnet::IpNet;

mod downloads;
mod linux;
mod windows;

pub use downloads::{Download, Downloads, Take};
pub use linux::{Kernel, Links, Packages, Swaps, Units};
pub use windows::{
    Balancer, Environment, Features, Firewall, Hns, Identity, Layers, NewEndpoint, Registry,
};

/// What every call of a platform gives.
pub type Result<T> = std::result::Result<T, Failure>;

/// A host: everything that can be seen on it and done to it.
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
    /// What the host is.
    fn facts(&self) -> Result<HostFacts>;

    /// Tells the host's people something, where the host keeps such things. That
    /// nobody hears it is no failure.
    fn notice(&self, level: Level, text: &str) {
        // systemd keeps what a service writes there.
        eprintln!("{level}: {text}");
    }

    /// Whether the host is in memory only; then the state folder, which never
    /// is, lies outside of it.
    fn is_simulated(&self) -> bool {
        false
    }
}

/// How much a notice matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// It is good to know.
    Information,
    /// Somebody should look.
    Warning,
    /// Somebody has to do something.
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

/// What has a name in the file system. Links are never followed: a link is
/// [`EntryKind::Other`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What it is.
    pub kind: EntryKind,
    /// Who may use it.
    pub access: AccessFacts,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A plain file.
    File,
    /// A folder.
    Directory,
    /// A link, a reparse point, a device.
    Other,
}

/// Files and folders.
pub trait Files {
    /// What has this name; none if nothing has.
    fn entry(&self, path: &HostPath) -> Result<Option<Entry>>;

    /// Opens a plain file for reading.
    fn open(&self, path: &HostPath) -> Result<Box<dyn Read>>;

    /// The names in a folder, sorted.
    fn list(&self, path: &HostPath) -> Result<Vec<String>>;

    /// Makes one folder; its parent exists, it does not.
    fn make_directory(&self, path: &HostPath, access: Access) -> Result<()>;

    /// Puts a file there as a whole, replacing one that is there, durable when
    /// it returns; the parent exists. A program that is running can be
    /// replaced. With [`Access::Inherited`] a replaced file keeps its access.
    fn write(&self, path: &HostPath, content: &mut dyn Read, form: Form) -> Result<()>;

    /// What a symbolic link says; none if the name stands for something else,
    /// or for nothing.
    fn read_link(&self, path: &HostPath) -> Result<Option<String>> {
        Err(unsupported(&format!("symbolic link `{path}`")))
    }

    /// Makes a symbolic link, replacing one that is there as a whole; the parent
    /// exists.
    fn make_link(&self, path: &HostPath, _target: &str) -> Result<()> {
        Err(unsupported(&format!("symbolic link `{path}`")))
    }

    /// Narrows who may use a path; of a folder also all that will be in it.
    fn set_access(&self, path: &HostPath, access: Access) -> Result<()>;

    /// Restores access from [`AccessFacts::descriptor`].
    fn restore_access(&self, path: &HostPath, descriptor: &str) -> Result<()>;

    /// Deletes a plain file or a link (not what it points at); absent is fine.
    fn remove_file(&self, path: &HostPath) -> Result<()>;

    /// Deletes a folder if it is empty; says whether it is gone.
    fn remove_empty_directory(&self, path: &HostPath) -> Result<bool>;

    /// Deletes a folder with all that is in it, links as links; absent is fine.
    fn remove_tree(&self, path: &HostPath) -> Result<()>;
}

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// Who may use it.
    pub access: Access,
    /// Whether it is a program (Linux: the executable bits).
    pub executable: bool,
}

/// Services. A service of casement's is a service of that name whose program
/// is `casement-node host NAME`, and whose definition lies in the state folder
/// ([`crate::state::Layout::service_file`]).
pub trait Services {
    /// The service of that name; none if there is none.
    fn service(&self, name: &str) -> Result<Option<ServiceSeen>>;

    /// All that [`restore_service`](Self::restore_service) needs to put the
    /// service back as it is now, whether it runs included; none if there is
    /// none. It holds no secret.
    fn save_service(&self, name: &str) -> Result<Option<serde_json::Value>>;

    /// Registers the service or changes its registration, and writes its
    /// definition; durable when it returns. The service does not run.
    fn install_service(&self, definition: &ServiceDefinition) -> Result<()>;

    /// Starts a service and returns when it runs; fails with what its log says
    /// last if it stops instead. Running already is fine.
    fn start_service(&self, name: &str) -> Result<()>;

    /// Sets when a service of somebody else's is started.
    fn set_service_start(&self, name: &str, _start: StartType) -> Result<()> {
        Err(unsupported(&format!("start type of the service `{name}`")))
    }

    /// Stops a service after the running ones that depend on it; returns the
    /// names of those, in the order in which they were stopped. Stopped or
    /// absent is fine.
    fn stop_service(&self, name: &str) -> Result<Vec<String>>;

    /// Deletes a stopped service and its definition; absent is fine.
    fn delete_service(&self, name: &str) -> Result<()>;

    /// Puts back what [`save_service`](Self::save_service) gave.
    fn restore_service(&self, name: &str, saved: &serde_json::Value) -> Result<()>;
}

/// Interfaces, routes, forwarding.
pub trait Network {
    /// All interfaces with their addresses.
    fn interfaces(&self) -> Result<Vec<InterfaceFacts>>;

    /// The number of an interface; none if no interface is it. For
    /// [`InterfaceRef::HnsNetwork`] the host's virtual adapter on the network:
    /// the one with the host's endpoint, else with the management address.
    fn interface(&self, reference: &InterfaceRef) -> Result<Option<u32>>;

    /// What the adapter that has an address is set to; none if none has it.
    fn adapter(&self, address: IpAddr) -> Result<Option<AdapterSeen>> {
        Err(unsupported(&format!("adapter with {address} to be kept")))
    }

    /// Gives the adapter that has an address what it lacks of these settings.
    fn restore_adapter(&self, address: IpAddr, _settings: &AdapterSeen) -> Result<()> {
        Err(unsupported(&format!("adapter with {address} to be kept")))
    }

    /// All routes to exactly this destination.
    fn routes(&self, destination: &IpNet) -> Result<Vec<RouteEntry>>;

    /// Adds a route that is not there.
    fn add_route(&self, route: &RouteEntry) -> Result<()>;

    /// Deletes a route; absent is fine.
    fn delete_route(&self, route: &RouteEntry) -> Result<()>;

    /// Whether forwarding is on; none if there is no such interface.
    fn forwarding(&self, interface: &InterfaceRef) -> Result<Option<bool>>;

    /// Switches forwarding.
    fn set_forwarding(&self, interface: &InterfaceRef, on: bool) -> Result<()>;

    /// The ports that are given to those who ask for none.
    fn dynamic_ports(&self, protocol: Protocol) -> Result<DynamicPortsFacts> {
        Err(unsupported(&format!("dynamic {protocol} ports")))
    }

    /// Sets those ports.
    fn set_dynamic_ports(&self, ports: &DynamicPorts) -> Result<()> {
        Err(unsupported(&format!("dynamic {} ports", ports.protocol)))
    }
}

/// Conditions.
pub trait Conditions {
    /// Whether the condition holds at this moment.
    fn condition(&self, condition: &Condition) -> Result<ConditionFacts>;

    /// Lets some time pass before a condition is looked at again. The
    /// simulated host only moves its clock.
    fn pause(&self, duration: Duration) {
        std::thread::sleep(duration);
    }
}

/// A program to run to its end, without a shell and without a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The program and its arguments; never a secret among them.
    pub arguments: Vec<String>,
    /// Variables added to the agent's own.
    pub environment: BTreeMap<String, String>,
    /// The folder that it starts in.
    pub folder: HostPath,
    /// When it is ended by force, with the processes that it started.
    pub deadline: Duration,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code; none if it was ended by force.
    pub code: Option<i32>,
    /// What it wrote to both streams, the last 64 KiB.
    pub output: String,
}

/// Programs.
pub trait Programs {
    /// Runs a program and waits for its end.
    fn run(&self, program: &Program) -> Result<Ended>;
}

/// The failure of a thing that this system does not have.
#[must_use]
pub fn unsupported(what: &str) -> Failure {
    Failure::new(
        Code::Unsupported,
        format!("{what}: {} has no such thing", std::env::consts::OS),
        "take the step out of this host's document, or check the host's `os`",
    )
}
