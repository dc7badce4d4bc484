//! The HNS state machine: takes calls, returns documents, does no I/O.
//!
//! A failed call may leave the store partially changed, so callers work on a copy and
//! keep it only on success (see [`super::Hns`]).

use std::net::Ipv4Addr;
use std::time::Duration;

use lab_wire::Failure;
use lab_wire::hcn::{HcnCall, HnsCall, Object, Verb};
use serde_json::Value;

use super::document;
use super::fabric::Effect;
use super::failure;
use super::kind::HnsVersion;
use super::model::{NON_PERSISTENT, Namespace, Network, State};
use super::query::Query;
use super::system::{System, new_id};

#[derive(Debug, Clone)]
pub struct StoreConfig {
    /// The version to emulate.
    pub version: HnsVersion,
    pub nic: String,
    /// The address of the NIC.
    pub management_ip: Ipv4Addr,
    /// How long after the creation of a network its document contains that address.
    pub address_delay: Duration,
}

#[derive(Debug, Clone)]
pub struct Store {
    pub(super) config: StoreConfig,
    pub(super) state: State,
    pub(super) effects: Vec<Effect>,
}

impl Store {
    pub fn new(config: StoreConfig) -> Self {
        Self::restore(config, State::default())
    }

    pub fn restore(config: StoreConfig, mut state: State) -> Self {
        if !state
            .namespaces
            .iter()
            .any(|namespace| namespace.is_default)
        {
            state.namespaces.push(Namespace::host());
        }
        Self {
            config,
            state,
            effects: Vec::new(),
        }
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    /// The effects since the last call, in order.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// One v2 call.
    pub fn hcn(&mut self, call: &HcnCall, system: &mut dyn System) -> Result<String, Failure> {
        match call.verb {
            Verb::Enumerate => self.enumerate(call.object, &call.document),
            Verb::Create => self.create(call, system),
            Verb::Open => self.open(call.object, &call.id).map(|()| String::new()),
            Verb::Modify => self.modify(call).map(|()| String::new()),
            Verb::Query => {
                let now = system.now();
                self.query(call.object, &call.id, &call.document, now)
            }
            Verb::Delete => self.delete(call.object, &call.id).map(|()| String::new()),
        }
    }

    /// One v1 call; returns the response document.
    pub fn v1(&mut self, call: &HnsCall, system: &mut dyn System) -> Result<String, Failure> {
        let output = self.v1_output(call, system)?;
        let mut response = serde_json::json!({"Success": true});
        if let (Some(output), Some(response)) = (output, response.as_object_mut()) {
            response.insert("Output".to_owned(), output);
        }
        Ok(response.to_string())
    }

    fn enumerate(&self, object: Object, query: &str) -> Result<String, Failure> {
        let query = Query::parse(query)?;
        let ids: Vec<&str> = match object {
            Object::Network => query.matching_ids(&self.state.networks),
            Object::Endpoint => query.matching_ids(&self.state.endpoints),
            Object::Namespace => query.matching_ids(&self.state.namespaces),
            Object::LoadBalancer => query.matching_ids(&self.state.load_balancers),
            Object::SdnRoute => query.matching_ids(&self.state.routes),
        };
        Ok(Value::from(ids).to_string())
    }

    fn create(&mut self, call: &HcnCall, system: &mut dyn System) -> Result<String, Failure> {
        let settings = document::parse(&call.document)?;
        let id = self.choose_id(&call.id, &settings, system)?;
        match call.object {
            Object::Network => self.create_network(&id, &settings, system)?,
            Object::Endpoint => self.create_endpoint(&id, &call.network, &settings)?,
            Object::Namespace => self.create_namespace(&id, &settings)?,
            Object::LoadBalancer => self.create_load_balancer(&id, &settings)?,
            Object::SdnRoute => self.create_route(&id, &settings)?,
        }
        Ok(id)
    }

    /// The passed id, otherwise the id in the document, otherwise a new id.
    pub(super) fn choose_id(
        &self,
        passed: &str,
        settings: &Value,
        system: &mut dyn System,
    ) -> Result<String, Failure> {
        let is_set = |id: &str| id.chars().any(|c| !matches!(c, '0' | '-' | '{' | '}'));
        let in_document = document::text(settings, "ID").unwrap_or_default();
        let requested = [passed, &in_document].into_iter().find(|id| is_set(id));
        let Some(requested) = requested else {
            return Ok(new_id(system));
        };
        let id = normal_id(requested);
        if self.has_id(&id) {
            return Err(failure::object_exists());
        }
        Ok(id)
    }

    fn has_id(&self, id: &str) -> bool {
        let state = &self.state;
        state.networks.iter().any(|it| it.id == id)
            || state.endpoints.iter().any(|it| it.id == id)
            || state.namespaces.iter().any(|it| it.id == id)
            || state.load_balancers.iter().any(|it| it.id == id)
            || state.routes.iter().any(|it| it.id == id)
    }

    fn open(&self, object: Object, id: &str) -> Result<(), Failure> {
        match object {
            Object::Network => self.network(id).map(|_| ()),
            Object::Endpoint => self.endpoint(id).map(|_| ()),
            Object::Namespace => self.namespace(id).map(|_| ()),
            Object::LoadBalancer => self.load_balancer(id).map(|_| ()),
            Object::SdnRoute => self.route(id).map(|_| ()),
        }
    }

    fn query(&self, object: Object, id: &str, query: &str, now: u64) -> Result<String, Failure> {
        let v1 = Query::parse(query)?.v1;
        let document = match (object, v1) {
            (Object::Network, false) => self.network_document(self.network(id)?, now),
            (Object::Network, true) => self.v1_network(self.network(id)?, now),
            (Object::Endpoint, false) => self.endpoint(id)?.document(),
            (Object::Endpoint, true) => self.v1_endpoint(self.endpoint(id)?),
            (Object::Namespace, false) => self.namespace(id)?.document(),
            (Object::Namespace, true) => self.namespace(id)?.v1_document(),
            (Object::LoadBalancer, false) => self.load_balancer(id)?.document(),
            (Object::LoadBalancer, true) => self.load_balancer(id)?.v1_document(),
            (Object::SdnRoute, false) => self.route(id)?.document(),
            (Object::SdnRoute, true) => self.route(id)?.v1_document(),
        };
        Ok(document.to_string())
    }

    fn modify(&mut self, call: &HcnCall) -> Result<(), Failure> {
        let request = document::parse(&call.document)?;
        match call.object {
            Object::Network => self.modify_network(&call.id, &request),
            Object::Endpoint => self.modify_endpoint(&call.id, &request),
            Object::Namespace => self.modify_namespace(&call.id, &request),
            Object::LoadBalancer => self.modify_load_balancer(&call.id, &request),
            Object::SdnRoute => Err(failure::not_implemented()),
        }
    }

    fn delete(&mut self, object: Object, id: &str) -> Result<(), Failure> {
        match object {
            Object::Network => self.delete_network(id),
            Object::Endpoint => self.delete_endpoint(id),
            Object::Namespace => self.delete_namespace(id),
            Object::LoadBalancer => self.delete_load_balancer(id),
            Object::SdnRoute => self.delete_route(id),
        }
    }

    /// Removes non-persistent objects; the remaining ones become effects.
    pub fn reboot(&mut self, system: &mut dyn System) {
        self.effects.clear();
        let state = &mut self.state;
        state.networks.retain(|it| it.flags & NON_PERSISTENT == 0);
        state.namespaces.retain(|namespace| namespace.is_default);
        let networks = &state.networks;
        let known = |id: &String| networks.iter().any(|network| &network.id == id);
        state.endpoints.retain(|endpoint| known(&endpoint.network));
        for network in &mut state.networks {
            network.created_at = system.now();
        }
        for endpoint in &mut state.endpoints {
            endpoint.containers.clear();
        }
        self.drop_dangling();
        self.replay();
    }

    /// Removes references to missing endpoints and namespaces, and load balancers and
    /// routes that have no endpoints left.
    pub(super) fn drop_dangling(&mut self) {
        let state = &mut self.state;
        let ids: Vec<String> = state.endpoints.iter().map(|it| it.id.clone()).collect();
        for namespace in &mut state.namespaces {
            namespace.endpoints.retain(|id| ids.contains(id));
        }
        for endpoint in &mut state.endpoints {
            let contains = |it: &Namespace| it.endpoints.contains(&endpoint.id);
            if !state.namespaces.iter().any(contains) {
                endpoint.namespace = None;
            }
        }
        state.load_balancers.retain_mut(|balancer| {
            let before = balancer.endpoints.len();
            balancer.endpoints.retain(|id| ids.contains(id));
            before == 0 || !balancer.endpoints.is_empty()
        });
        state.routes.retain_mut(|route| {
            route.endpoints.retain(|id| ids.contains(id));
            !route.endpoints.is_empty()
        });
    }

    /// Creates the effects for all existing objects.
    fn replay(&mut self) {
        let mut effects = Vec::new();
        let networks: Vec<&Network> = self.state.networks.iter().collect();
        if networks.iter().any(|network| network.kind.is_external()) {
            effects.push(Effect::SwitchCreated {
                nic: self.config.nic.clone(),
                reset_connections: false,
            });
        }
        for network in networks {
            effects.push(Effect::NetworkCreated(self.plan(network)));
            let routes = self.remote_subnets(network);
            effects.extend(routes.into_iter().map(Effect::RemoteSubnetAdded));
        }
        for endpoint in &self.state.endpoints {
            let attachment = self.attachment(endpoint);
            effects.extend(attachment.map(Effect::EndpointAttached));
        }
        self.effects = effects;
    }
}

/// Lower case and without braces.
pub(super) fn normal_id(id: &str) -> String {
    id.trim_matches(['{', '}']).to_ascii_lowercase()
}
