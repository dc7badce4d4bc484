//! An emulator of the Windows Host Networking Service: the implementation behind
//! `computenetwork.dll` and `vmcompute.dll!HNSCall` on the lab's Windows hosts.
//!
//! [`Store`] is the service as a pure state machine. [`Fabric`] applies its changes
//! to the network; [`LinuxFabric`] does so with bridges, veths and VXLAN. [`Hns`]
//! combines both behind one lock and saves the state to a file. The behavior is
//! derived from HNS clients and observed responses, not from Windows itself.

mod document;
mod endpoint;
mod fabric;
mod failure;
mod kind;
mod linux;
mod load_balancer;
mod mac;
mod model;
mod namespace;
mod network;
mod policy;
mod query;
mod service;
mod store;
mod system;
mod v1;

#[cfg(test)]
mod tests;

pub use fabric::{
    Attachment, Effect, Fabric, FabricError, NetworkPlan, NoFabric, RemoteSubnet, Vxlan,
};
pub use kind::{HnsVersion, NetworkKind};
pub use linux::{LinuxFabric, VIRTUAL_ADAPTER};
pub use mac::{InvalidMac, Mac, MacRange};
pub use model::State;
pub use service::{Hns, HnsConfig, HnsError};
pub use store::{Store, StoreConfig};
pub use system::{FakeSystem, RealSystem, System};
