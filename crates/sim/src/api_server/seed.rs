//! The initial cluster: the objects that kubeadm and flannel create, from a short
//! description.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use ipnet::Ipv4Net;
use serde_json::Value;

use super::ApiError;
use super::decode::FieldValidation;
use super::kinds;
use super::pki::Pki;
use super::rbac::User;
use super::state::{Server, State};
use super::store::{Key, Store};
use super::write::{ObjectRef, Writer};

/// Default version.
const DEFAULT_VERSION: &str = "v1.36.3";

mod nodes;
mod objects;
mod roles;

#[derive(Debug, Clone)]
pub struct Seed {
    /// Listen address; port 0 picks a free port.
    pub listen: SocketAddr,
    /// Additional names and addresses for the server certificate.
    pub names: Vec<String>,
    /// Kubernetes version with the leading `v`.
    pub kubernetes: String,
    pub pod_network: Ipv4Net,
    pub service_network: Ipv4Net,
    pub dns: Ipv4Addr,
    /// For example `cluster.local`.
    pub domain: String,
    /// Set if flannel is the pod network.
    pub flannel: Option<Flannel>,
    /// Nodes that exist and are Ready at the start.
    pub nodes: Vec<SeedNode>,
    /// Whether certificate requests of bootstrapping kubelets are auto-approved, as kubeadm
    /// sets it up.
    pub auto_approve_kubelets: bool,
}

/// flannel as installed by its own manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flannel {
    /// 1 by default.
    pub vni: u32,
    /// UDP port, 8472 by default.
    pub port: u16,
}

/// A Linux node that is Ready from the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeedNode {
    pub name: String,
    pub address: Ipv4Addr,
    pub control_plane: bool,
}

impl Default for Seed {
    /// Like the real control plane of a lab, with one Linux node.
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            names: Vec::new(),
            kubernetes: DEFAULT_VERSION.to_owned(),
            pod_network: network([10, 244, 0, 0], 16),
            service_network: network([10, 96, 0, 0], 16),
            dns: Ipv4Addr::new(10, 96, 0, 10),
            domain: "cluster.local".to_owned(),
            flannel: None,
            nodes: vec![SeedNode {
                name: "lin1".to_owned(),
                address: Ipv4Addr::new(198, 18, 0, 11),
                control_plane: false,
            }],
            auto_approve_kubelets: true,
        }
    }
}

fn network(address: [u8; 4], length: u8) -> Ipv4Net {
    Ipv4Net::new_assert(address.into(), length)
}

impl Seed {
    /// Subject alternative names of the server certificate.
    pub(super) fn names(&self, address: SocketAddr) -> Vec<String> {
        let mut names = vec!["localhost".to_owned(), "kubernetes".to_owned()];
        names.push("kubernetes.default.svc".to_owned());
        names.push(format!("kubernetes.default.svc.{}", self.domain));
        names.push(self.api_service_ip().to_string());
        names.push(match address.ip() {
            ip if ip.is_unspecified() => IpAddr::from(Ipv4Addr::LOCALHOST).to_string(),
            ip => ip.to_string(),
        });
        names.extend(self.names.iter().cloned());
        names
    }

    /// The address of the API server's own Service.
    fn api_service_ip(&self) -> Ipv4Addr {
        self.service_network
            .hosts()
            .next()
            .unwrap_or(self.service_network.network())
    }
}

pub(super) fn server(seed: &Seed, address: SocketAddr, pki: Pki) -> Result<Server, ApiError> {
    let mut state = State {
        store: Store::new(),
        accounts: Default::default(),
        pod_network: seed.pod_network,
        service_network: seed.service_network,
    };
    let address = address.to_string();
    let objects = roles::all(seed)
        .into_iter()
        .chain(objects::all(seed, &address, &pki.ca_pem()))
        .chain(nodes::all(seed));
    for object in objects {
        create_object(&mut state, &pki, object)?;
    }
    Ok(Server::new(pki, seed.kubernetes.clone(), address, state))
}

fn create_object(state: &mut State, pki: &Pki, object: Value) -> Result<(), ApiError> {
    let text = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (kind, name) = (text("/kind"), text("/metadata/name"));
    let rejected = |reason: String| ApiError::Seed {
        object: format!("{kind} {name}"),
        reason,
    };
    let kind_info = kinds::by_name(kind).ok_or_else(|| rejected("kind not served".to_owned()))?;
    let target = ObjectRef {
        kind: kind_info,
        key: Key::new(kind_info, text("/metadata/namespace"), name),
        subresource: String::new(),
    };
    let kubeadm = User::new("kubernetes-super-admin", &["system:masters"]);
    let mut writer = Writer {
        state,
        pki,
        user: &kubeadm,
        manager: "kubeadm".to_owned(),
        dry_run: false,
        field_validation: FieldValidation::Strict,
        warnings: Vec::new(),
    };
    // Creating a namespace has already created its service account.
    if writer.state.store.get(&target.key).is_some() {
        return Ok(());
    }
    let created = writer.create(&target, object.clone());
    created
        .map(drop)
        .map_err(|status_error| rejected(status_error.message))
}
