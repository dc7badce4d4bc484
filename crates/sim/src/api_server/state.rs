//! The server's state, token authentication, and address allocation.

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
use super::rbac::User;
use super::request_log::RequestLog;
use super::store::{Key, Store};
use super::time;

pub(super) struct Server {
    pub(super) pki: Pki,
    /// With the leading `v`.
    pub(super) version: String,
    /// For example `127.0.0.1:6443`.
    pub(super) address: String,
    pub(super) requests: RequestLog,
    state: Mutex<State>,
}

pub(super) struct State {
    pub(super) store: Store,
    /// Service accounts by token.
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
            requests: RequestLog::default(),
            state: Mutex::new(state),
        }
    }

    /// Poisoning is ignored: each write is a single call of the store, so a panic leaves no
    /// partial object.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The user of a token, without the group `system:authenticated`.
    pub(super) fn user_for_token(&self, token: &str) -> Option<User> {
        self.accounts
            .get(token)
            .cloned()
            .or_else(|| self.bootstrap_user(token))
    }

    fn bootstrap_user(&self, token: &str) -> Option<User> {
        let (id, secret) = token.split_once('.')?;
        let kind = kinds::by_name("Secret")?;
        let name = format!("bootstrap-token-{id}");
        let secret_object = self.store.get(&Key::new(kind, "kube-system", &name))?;
        let text = |key: &str| {
            let bytes = STANDARD.decode(secret_object["data"][key].as_str()?).ok()?;
            String::from_utf8(bytes).ok()
        };
        let expired = |text: String| time::parse(&text).is_none_or(|end| end <= Timestamp::now());
        let usable = secret_object["type"] == "bootstrap.kubernetes.io/token"
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

    /// The next /24 of the pod network that no node uses.
    pub(super) fn next_pod_cidr(&self) -> Option<Ipv4Net> {
        let nodes = kinds::by_name("Node")?;
        let taken: HashSet<&str> = self
            .store
            .all(nodes)
            .filter_map(|(_, node)| node["spec"]["podCIDR"].as_str())
            .collect();
        let length = self.pod_network.prefix_len().max(24);
        let mut subnets = self.pod_network.subnets(length).ok()?;
        subnets.find(|subnet| !taken.contains(subnet.to_string().as_str()))
    }

    /// The next unused address, after the first 32, which are for static assignment.
    pub(super) fn next_cluster_ip(&self) -> Option<Ipv4Addr> {
        let services = kinds::by_name("Service")?;
        let taken: Vec<&str> = self
            .store
            .all(services)
            .filter_map(|(_, service)| service["spec"]["clusterIP"].as_str())
            .collect();
        let mut hosts = self.service_network.hosts().skip(32);
        hosts.find(|host| !taken.contains(&host.to_string().as_str()))
    }

    /// Up to 64 unused node ports, enough for one Service.
    pub(super) fn free_node_ports(&self) -> Vec<u64> {
        let services = kinds::by_name("Service").into_iter();
        let services = services.flat_map(|kind| self.store.all(kind));
        let ports = services.flat_map(|(_, service)| service["spec"]["ports"].as_array());
        let taken: Vec<u64> = ports
            .flatten()
            .filter_map(|port| port["nodePort"].as_u64())
            .collect();
        let free = (30000..=32767).filter(|port| !taken.contains(port));
        free.take(64).collect()
    }

    pub(super) fn get(&self, kind: &str, namespace: &str, name: &str) -> Option<&Value> {
        let kind = kinds::by_name(kind)?;
        let found = self.store.get(&Key::new(kind, namespace, name))?;
        Some(found)
    }
}
