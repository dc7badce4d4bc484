//! The state machine: calls in, documents out, no input or output of its own.
//!
//! A call that fails may leave the store half changed; whoever drives it works
//! on a copy and keeps that only after success (see [`super::Hns`]).

use std::net::Ipv4Addr;
use std::time::Duration;

use lab_wire::Failure;
use lab_wire::hcn::{HcnCall, HnsCall, Object, Verb};
use serde_json::Value;

use super::ambient::{Ambient, new_id};
use super::document;
use super::fabric::Effect;
use super::failure;
use super::kind::HnsVersion;
use super::model::{NON_PERSISTENT, Namespace, Network, State};
use super::query::Query;

/// What the host is.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Which HNS to be.
    pub version: HnsVersion,
    /// The network card.
    pub nic: String,
    /// The host's address on it.
    pub management_ip: Ipv4Addr,
    /// How long after its creation a network learns the host's address.
    pub address_delay: Duration,
}

/// One host's HNS.
#[derive(Debug, Clone)]
pub struct Store {
    pub(super) setup: Setup,
    pub(super) state: State,
    pub(super) effects: Vec<Effect>,
}

impl Store {
    /// A host that never had a network.
    pub fn new(setup: Setup) -> Self {
        Self::restore(setup, State::default())
    }

    /// A host that was switched off or whose service was stopped.
    pub fn restore(setup: Setup, mut state: State) -> Self {
        if !state
            .namespaces
            .iter()
            .any(|namespace| namespace.is_default)
        {
            state.namespaces.push(Namespace::host());
        }
        Self {
            setup,
            state,
            effects: Vec::new(),
        }
    }

    /// What is worth keeping.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// What happened since the last time, in order.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// One call of the second generation.
    pub fn hcn(&mut self, call: &HcnCall, ambient: &mut dyn Ambient) -> Result<String, Failure> {
        match call.verb {
            Verb::Enumerate => self.enumerate(call.object, &call.document),
            Verb::Create => self.create(call, ambient),
            Verb::Open => self.open(call.object, &call.id).map(|()| String::new()),
            Verb::Modify => self.modify(call).map(|()| String::new()),
            Verb::Query => {
                let now = ambient.now();
                self.query(call.object, &call.id, &call.document, now)
            }
            Verb::Delete => self.delete(call.object, &call.id).map(|()| String::new()),
        }
    }

    /// One call of the first generation; the answer is the response document.
    pub fn v1(&mut self, call: &HnsCall, ambient: &mut dyn Ambient) -> Result<String, Failure> {
        let output = self.v1_output(call, ambient)?;
        let mut response = serde_json::json!({"Success": true});
        if let (Some(output), Some(response)) = (output, response.as_object_mut()) {
            response.insert("Output".to_owned(), output);
        }
        Ok(response.to_string())
    }

    fn enumerate(&self, object: Object, query: &str) -> Result<String, Failure> {
        let query = Query::parse(query)?;
        let ids: Vec<&str> = match object {
            Object::Network => query.pick(&self.state.networks),
            Object::Endpoint => query.pick(&self.state.endpoints),
            Object::Namespace => query.pick(&self.state.namespaces),
            Object::LoadBalancer => query.pick(&self.state.load_balancers),
            Object::SdnRoute => query.pick(&self.state.routes),
        };
        Ok(Value::from(ids).to_string())
    }

    fn create(&mut self, call: &HcnCall, ambient: &mut dyn Ambient) -> Result<String, Failure> {
        let settings = document::parse(&call.document)?;
        let id = self.choose_id(&call.id, &settings, ambient)?;
        match call.object {
            Object::Network => self.create_network(&id, &settings, ambient)?,
            Object::Endpoint => self.create_endpoint(&id, &call.network, &settings)?,
            Object::Namespace => self.create_namespace(&id, &settings)?,
            Object::LoadBalancer => self.create_load_balancer(&id, &settings)?,
            Object::SdnRoute => self.create_route(&id, &settings)?,
        }
        Ok(id)
    }

    /// The id that the caller passes, else the one in its document, else a new
    /// one.
    pub(super) fn choose_id(
        &self,
        passed: &str,
        settings: &Value,
        ambient: &mut dyn Ambient,
    ) -> Result<String, Failure> {
        let given = |id: &str| id.chars().any(|c| !matches!(c, '0' | '-' | '{' | '}'));
        let written = document::text(settings, "ID").unwrap_or_default();
        let wanted = [passed, &written].into_iter().find(|id| given(id));
        let Some(wanted) = wanted else {
            return Ok(new_id(ambient));
        };
        let id = normal_id(wanted);
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
        let first_generation = Query::parse(query)?.first_generation;
        let document = match (object, first_generation) {
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

    /// The host was restarted: what is not persistent is gone, and what is left
    /// comes back as effects.
    pub fn reboot(&mut self, ambient: &mut dyn Ambient) {
        self.effects.clear();
        let state = &mut self.state;
        state.networks.retain(|it| it.flags & NON_PERSISTENT == 0);
        state.namespaces.retain(|namespace| namespace.is_default);
        let networks = &state.networks;
        let known = |id: &String| networks.iter().any(|network| &network.id == id);
        state.endpoints.retain(|endpoint| known(&endpoint.network));
        for network in &mut state.networks {
            network.made_at = ambient.now();
        }
        for endpoint in &mut state.endpoints {
            endpoint.containers.clear();
        }
        self.drop_dangling();
        self.replay();
    }

    /// Forgets references to endpoints and namespaces that are gone, and load
    /// balancers and routes with nothing left.
    pub(super) fn drop_dangling(&mut self) {
        let state = &mut self.state;
        let ids: Vec<String> = state.endpoints.iter().map(|it| it.id.clone()).collect();
        for namespace in &mut state.namespaces {
            namespace.endpoints.retain(|id| ids.contains(id));
        }
        for endpoint in &mut state.endpoints {
            let inside = |it: &Namespace| it.endpoints.contains(&endpoint.id);
            if !state.namespaces.iter().any(inside) {
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

    /// Everything that is there, as if it had just been made.
    fn replay(&mut self) {
        let mut effects = Vec::new();
        let networks: Vec<&Network> = self.state.networks.iter().collect();
        if networks.iter().any(|network| network.kind.is_external()) {
            effects.push(Effect::SwitchMade {
                nic: self.setup.nic.clone(),
                cut: false,
            });
        }
        for network in networks {
            effects.push(Effect::NetworkMade(self.plan(network)));
            let routes = self.remote_subnets(network);
            effects.extend(routes.into_iter().map(Effect::RemoteSubnetAdded));
        }
        for endpoint in &self.state.endpoints {
            let place = self.attachment(endpoint);
            effects.extend(place.map(Effect::EndpointAttached));
        }
        self.effects = effects;
    }
}

/// Lower case and without braces.
pub(super) fn normal_id(id: &str) -> String {
    id.trim_matches(['{', '}']).to_ascii_lowercase()
}
