//! Host Networking Service, emulated: what `computenetwork.dll` and
//! `vmcompute.dll!HNSCall` answer on the lab's Windows hosts.
//!
//! [`Store`] is the service as a pure state machine; [`Fabric`] is what its
//! changes do to the wire, [`LinuxFabric`] does them with bridges, veths and
//! VXLAN; [`Hns`] holds both together behind one lock and keeps the state in a
//! file. It behaves as HNS is understood from its callers and from what it was
//! seen to answer; it is not Windows.

#[path = "hns/system.rs"]
mod ambient;
#[path = "hns/load_balancer.rs"]
mod balancer;
mod document;
mod endpoint;
mod fabric;
mod failure;
mod kind;
mod linux;
mod mac;
mod model;
mod namespace;
mod network;
mod policy;
mod query;
mod service;
mod store;
mod v1;

#[cfg(test)]
mod tests;

pub use ambient::{Ambient, FixedAmbient, SystemAmbient};
pub use fabric::{
    Attachment, Effect, Fabric, FabricError, NetworkPlan, NoFabric, RemoteSubnet, Vxlan,
};
pub use kind::{HnsVersion, NetworkKind};
pub use linux::{LinuxFabric, VIRTUAL_ADAPTER};
pub use mac::{Mac, MacRange, NotAMac};
pub use model::State;
pub use service::{Hns, HnsConfig, HnsError};
pub use store::{Setup, Store};
