//! The cluster that is there from the start: what kubeadm and flannel leave behind,
//! from a short description.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use ipnet::Ipv4Net;
use serde_json::Value;

use super::ApiError;
use super::decode::Unknown;
use super::kinds;
use super::pki::Pki;
use super::rights::User;
use super::state::{Server, State};
use super::store::{Key, Store};
use super::write::{Place, Writer};

/// The version that the server reports unless a seed says otherwise.
const KUBERNETES: &str = "v1.36.3";

mod nodes;
mod objects;
mod roles;

/// A kubeadm-made cluster in a few words.
#[derive(Debug, Clone)]
pub struct Seed {
    /// Where the server answers; port 0 is any free one.
    pub listen: SocketAddr,
    /// Further names and addresses that clients may know it by.
    pub names: Vec<String>,
    /// Its version, with its `v`.
    pub kubernetes: String,
    /// The pods' network.
    pub pod_network: Ipv4Net,
    /// The services' network.
    pub service_network: Ipv4Net,
    /// The address of the cluster's DNS.
    pub dns: Ipv4Addr,
    /// `cluster.local` and its like.
    pub domain: String,
    /// The pod network's agent, if it is flannel.
    pub flannel: Option<Flannel>,
    /// The nodes that are there and Ready.
    pub nodes: Vec<SeedNode>,
    /// Whether kubelets that bootstrap are approved without a person, as kubeadm
    /// has it.
    pub approves_kubelets: bool,
}

/// Flannel, as its own manifest installs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flannel {
    /// The VXLAN's number: 1 unless somebody changed it.
    pub vni: u32,
    /// The VXLAN's UDP port: 8472 unless somebody changed it.
    pub port: u16,
}

/// A Linux node that is Ready from the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeedNode {
    /// Its name.
    pub name: String,
    /// Its internal address.
    pub address: Ipv4Addr,
    /// Whether it is of the control plane.
    pub control_plane: bool,
}

impl Default for Seed {
    /// The cluster that the real control plane of a lab is, with one Linux node.
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            names: Vec::new(),
            kubernetes: KUBERNETES.to_owned(),
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
            approves_kubelets: true,
        }
    }
}

/// Prefixes that are constants above.
fn network(address: [u8; 4], length: u8) -> Ipv4Net {
    Ipv4Net::new_assert(address.into(), length)
}

impl Seed {
    /// Every name that the server's certificate is for.
    pub(super) fn names(&self, address: SocketAddr) -> Vec<String> {
        let mut names = vec!["localhost".to_owned(), "kubernetes".to_owned()];
        names.push("kubernetes.default.svc".to_owned());
        names.push(format!("kubernetes.default.svc.{}", self.domain));
        names.push(self.first_service().to_string());
        names.push(match address.ip() {
            ip if ip.is_unspecified() => IpAddr::from(Ipv4Addr::LOCALHOST).to_string(),
            ip => ip.to_string(),
        });
        names.extend(self.names.iter().cloned());
        names
    }

    /// The address of the API server's own Service.
    fn first_service(&self) -> Ipv4Addr {
        self.service_network
            .hosts()
            .next()
            .unwrap_or(self.service_network.network())
    }
}

/// A server that holds the seed.
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
        plant(&mut state, &pki, object)?;
    }
    Ok(Server::new(pki, seed.kubernetes.clone(), address, state))
}

fn plant(state: &mut State, pki: &Pki, object: Value) -> Result<(), ApiError> {
    let text = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (kind, name) = (text("/kind"), text("/metadata/name"));
    let refused = |why: String| ApiError::Seed {
        object: format!("{kind} {name}"),
        why,
    };
    let known = kinds::named(kind).ok_or_else(|| refused("its kind is not served".to_owned()))?;
    let place = Place {
        kind: known,
        key: Key::new(known, text("/metadata/namespace"), name),
        subresource: String::new(),
    };
    let kubeadm = User::new("kubernetes-super-admin", &["system:masters"]);
    let mut writer = Writer {
        state,
        pki,
        user: &kubeadm,
        manager: "kubeadm".to_owned(),
        dry_run: false,
        unknown: Unknown::Refused,
        warnings: Vec::new(),
    };
    // A new namespace brings an account with it.
    if writer.state.store.get(&place.key).is_some() {
        return Ok(());
    }
    let planted = writer.create(&place, object.clone());
    planted
        .map(drop)
        .map_err(|refusal| refused(refusal.message))
}
