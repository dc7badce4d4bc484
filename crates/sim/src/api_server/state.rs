//! All that the server holds, and who a request comes from.

use std::collections::{BTreeMap, HashSet};
use std::net::Ipv4Addr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ipnet::Ipv4Net;
use jiff::Timestamp;
use serde_json::Value;

use super::kinds;
use super::pki::Pki;
use super::rights::User;
use super::store::{Key, Store};
use super::time;

/// The server, as its connections share it.
pub(super) struct Server {
    pub(super) pki: Pki,
    /// Its version, with its `v`.
    pub(super) version: String,
    /// Where it answers (`127.0.0.1:6443`).
    pub(super) address: String,
    state: Mutex<State>,
}

/// What changes.
pub(super) struct State {
    pub(super) store: Store,
    /// Service accounts by the tokens they were given.
    pub(super) accounts: BTreeMap<String, User>,
    pub(super) pod_network: Ipv4Net,
    pub(super) service_network: Ipv4Net,
}

impl Server {
    pub(super) fn new(pki: Pki, version: String, address: String, state: State) -> Self {
        Self {
            pki,
            version,
            address,
            state: Mutex::new(state),
        }
    }

    /// A panic while it was held leaves whole objects behind: each write is one call
    /// of the store.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Who the bearer of a token is, but for the group of all who are known.
    pub(super) fn bearer(&self, token: &str) -> Option<User> {
        self.accounts
            .get(token)
            .cloned()
            .or_else(|| self.bootstrapper(token))
    }

    fn bootstrapper(&self, token: &str) -> Option<User> {
        let (id, secret) = token.split_once('.')?;
        let kind = kinds::named("Secret")?;
        let name = format!("bootstrap-token-{id}");
        let held = self.store.get(&Key::new(kind, "kube-system", &name))?;
        let text = |key: &str| {
            let bytes = STANDARD.decode(held["data"][key].as_str()?).ok()?;
            String::from_utf8(bytes).ok()
        };
        let expired = |text: String| time::read(&text).is_none_or(|end| end <= Timestamp::now());
        let usable = held["type"] == "bootstrap.kubernetes.io/token"
            && text("token-id").as_deref() == Some(id)
            && text("token-secret").as_deref() == Some(secret)
            && text("usage-bootstrap-authentication").as_deref() == Some("true")
            && !text("expiration").is_some_and(expired);
        let groups = text("auth-extra-groups").unwrap_or_default();
        let mut user = User::new(&format!("system:bootstrap:{id}"), &["system:bootstrappers"]);
        user.groups.extend(
            groups
                .split(',')
                .filter(|group| !group.is_empty())
                .map(str::to_owned),
        );
        usable.then_some(user)
    }

    /// The next /24 of the pods' network that no node has.
    pub(super) fn free_pod_network(&self) -> Option<Ipv4Net> {
        let nodes = kinds::named("Node")?;
        let taken: HashSet<&str> = self
            .store
            .all(nodes)
            .filter_map(|(_, node)| node["spec"]["podCIDR"].as_str())
            .collect();
        let length = self.pod_network.prefix_len().max(24);
        let mut subnets = self.pod_network.subnets(length).ok()?;
        subnets.find(|subnet| !taken.contains(subnet.to_string().as_str()))
    }

    /// The next address that no Service has, beyond those that are given by hand.
    pub(super) fn free_service_address(&self) -> Option<Ipv4Addr> {
        let services = kinds::named("Service")?;
        let taken: Vec<&str> = self
            .store
            .all(services)
            .filter_map(|(_, service)| service["spec"]["clusterIP"].as_str())
            .collect();
        let mut hosts = self.service_network.hosts().skip(32);
        hosts.find(|host| !taken.contains(&host.to_string().as_str()))
    }

    /// The ports of nodes that no Service has, as far as one may need them.
    pub(super) fn free_node_ports(&self) -> Vec<u64> {
        let services = kinds::named("Service").into_iter();
        let services = services.flat_map(|kind| self.store.all(kind));
        let ports = services.flat_map(|(_, service)| service["spec"]["ports"].as_array());
        let taken: Vec<u64> = ports
            .flatten()
            .filter_map(|port| port["nodePort"].as_u64())
            .collect();
        let free = (30000..=32767).filter(|port| !taken.contains(port));
        free.take(64).collect()
    }

    /// An object by kind, namespace and name.
    pub(super) fn get(&self, kind: &str, namespace: &str, name: &str) -> Option<&Value> {
        let kind = kinds::named(kind)?;
        let found = self.store.get(&Key::new(kind, namespace, name))?;
        Some(found)
    }
}
