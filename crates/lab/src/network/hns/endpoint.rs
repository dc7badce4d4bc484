//! Creates, reads, modifies and deletes endpoints.

mod address;

use lab_wire::Failure;
use serde_json::{Value, json};

use super::document;
use super::fabric::{Attachment, Effect};
use super::failure;
use super::kind::NetworkKind;
use super::mac::Mac;
use super::model::{Endpoint, NO_NAMESPACE, Network, Policy, REMOTE};
use super::network::{default_route, read_dns, read_routes};
use super::policy;
use super::store::{Store, normal_id};

impl Store {
    pub(super) fn endpoint(&self, id: &str) -> Result<&Endpoint, Failure> {
        let id = normal_id(id);
        self.state
            .endpoints
            .iter()
            .find(|endpoint| endpoint.id == id)
            .ok_or_else(failure::endpoint_not_found)
    }

    pub(super) fn endpoint_mut(&mut self, id: &str) -> Result<&mut Endpoint, Failure> {
        let id = normal_id(id);
        self.state
            .endpoints
            .iter_mut()
            .find(|endpoint| endpoint.id == id)
            .ok_or_else(failure::endpoint_not_found)
    }

    pub(super) fn create_endpoint(
        &mut self,
        id: &str,
        network: &str,
        settings: &Value,
    ) -> Result<(), Failure> {
        let named = document::text(settings, "HostComputeNetwork")
            .or_else(|| document::text(settings, "VirtualNetwork"));
        let network = match network.is_empty() {
            true => named.unwrap_or_default(),
            false => network.to_owned(),
        };
        let network = self.network(&network)?.clone();
        let endpoint = self.read_endpoint(id, &network, settings)?;
        self.check_ports(&endpoint, &endpoint.policies)?;
        let namespace = document::text(settings, "HostComputeNamespace");
        self.state.endpoints.push(endpoint);
        match namespace.filter(|id| id != NO_NAMESPACE) {
            Some(namespace) => self.attach(&namespace, id),
            None => Ok(()),
        }
    }

    fn read_endpoint(
        &self,
        id: &str,
        network: &Network,
        settings: &Value,
    ) -> Result<Endpoint, Failure> {
        let mut flags = document::number32(settings, "Flags").unwrap_or(0);
        if document::flag(settings, "IsRemoteEndpoint") {
            flags |= REMOTE;
        }
        let addresses = self.read_addresses(network, settings, flags & REMOTE != 0)?;
        let mac = match document::text(settings, "MacAddress") {
            Some(text) => text.parse().map_err(|_| failure::invalid_endpoint())?,
            None => self.free_mac(network)?,
        };
        let mut policies = policy::read_all(settings, self.config.version)?;
        if network.kind == NetworkKind::L2Bridge && !policies.iter().any(|it| it.is("L2Driver")) {
            policies.push(Policy {
                kind: "L2Driver".to_owned(),
                settings: json!({}),
            });
        }
        let mut routes = read_routes(settings);
        if routes.is_empty() {
            let first = addresses.first().and_then(|it| it.ip_address.parse().ok());
            let gateway = document::text(settings, "GatewayAddress").or_else(|| {
                let subnet = first.and_then(|address| network.subnet_of(address));
                let subnet = subnet.or(network.subnets.first())?;
                Some(subnet.gateway()?.to_string())
            });
            routes.extend(gateway.map(default_route));
        }
        Ok(Endpoint {
            id: id.to_owned(),
            name: document::text(settings, "Name").unwrap_or_else(|| "Ethernet".to_owned()),
            network: network.id.clone(),
            namespace: None,
            policies,
            addresses,
            dns: read_dns(settings),
            routes,
            mac,
            flags,
            containers: Vec::new(),
            was_attached: false,
        })
    }

    /// An external port of a network can be published by one endpoint only.
    fn check_ports(&self, endpoint: &Endpoint, policies: &[Policy]) -> Result<(), Failure> {
        let others = self
            .state
            .endpoints
            .iter()
            .filter(|it| it.network == endpoint.network && it.id != endpoint.id);
        let taken: Vec<_> = others
            .flat_map(|it| &it.policies)
            .filter_map(Policy::published_port)
            .collect();
        let mut requested = policies.iter().filter_map(Policy::published_port);
        match requested.any(|port| taken.contains(&port)) {
            true => Err(failure::port_exists()),
            false => Ok(()),
        }
    }

    /// `{ResourceType, RequestType, Settings}`; `Update` replaces all policies.
    pub(super) fn modify_endpoint(&mut self, id: &str, request: &Value) -> Result<(), Failure> {
        let endpoint = self.endpoint(id)?.clone();
        let resource = document::text(request, "ResourceType").unwrap_or_default();
        if resource.eq_ignore_ascii_case("Port") {
            return Ok(());
        }
        if !resource.eq_ignore_ascii_case("Policy") {
            return Err(failure::unsupported());
        }
        let settings = document::field(request, "Settings").unwrap_or(&Value::Null);
        let new = policy::read_all(settings, self.config.version)?;
        let verb = document::text(request, "RequestType").unwrap_or_else(|| "Add".to_owned());
        match verb.to_ascii_lowercase().as_str() {
            "add" => {
                self.check_ports(&endpoint, &new)?;
                self.endpoint_mut(id)?.policies.extend(new);
            }
            "update" => {
                self.check_ports(&endpoint, &new)?;
                self.endpoint_mut(id)?.policies = new;
            }
            "remove" => {
                let same = |one: &Policy, other: &Policy| {
                    one.is(&other.kind) && one.settings == other.settings
                };
                self.endpoint_mut(id)?
                    .policies
                    .retain(|old| !new.iter().any(|removed| same(removed, old)));
            }
            "refresh" => {}
            _ => return Err(failure::unsupported()),
        }
        Ok(())
    }

    /// Also removes it from its namespace, load balancers and routes.
    pub(super) fn delete_endpoint(&mut self, id: &str) -> Result<(), Failure> {
        let endpoint = self.endpoint(id)?.clone();
        if let Some(namespace) = &endpoint.namespace {
            self.detach(namespace, &endpoint.id)?;
        }
        self.state.endpoints.retain(|it| it.id != endpoint.id);
        for balancer in &mut self.state.load_balancers {
            balancer.endpoints.retain(|id| id != &endpoint.id);
        }
        for route in &mut self.state.routes {
            route.endpoints.retain(|id| id != &endpoint.id);
        }
        Ok(())
    }

    /// `None` for detached and remote endpoints.
    pub(super) fn attachment(&self, endpoint: &Endpoint) -> Option<Attachment> {
        let namespace = endpoint.namespace.as_ref()?;
        let namespace = self.namespace(namespace).ok()?;
        let network = self.network(&endpoint.network).ok()?;
        if endpoint.is_remote() {
            return None;
        }
        let routes = endpoint.routes.iter().filter_map(|route| {
            let to = route.destination_prefix.parse().ok()?;
            Some((to, route.next_hop.parse().ok()?))
        });
        let mut endpoints = namespace.endpoints.iter();
        Some(Attachment {
            endpoint: endpoint.id.clone(),
            network: network.id.clone(),
            namespace: (!namespace.is_default).then(|| namespace.id.clone()),
            index: endpoints.position(|id| id == &endpoint.id).unwrap_or(0),
            mac: endpoint.mac,
            addresses: endpoint
                .addresses
                .iter()
                .filter_map(|it| it.net())
                .collect(),
            routes: routes.collect(),
        })
    }

    pub(super) fn attach(&mut self, namespace: &str, endpoint: &str) -> Result<(), Failure> {
        let namespace = self.namespace(namespace)?.id.clone();
        let found = self.endpoint_mut(endpoint)?;
        if found.is_remote() {
            return Err(failure::invalid_remote_operation());
        }
        if found.namespace.is_some() {
            return Err(failure::namespace_exists());
        }
        found.namespace = Some(namespace.clone());
        found.was_attached = true;
        let found = found.clone();
        self.add_to_namespace(&namespace, &found.id)?;
        let attachment = self.attachment(&found);
        self.effects
            .extend(attachment.map(Effect::EndpointAttached));
        Ok(())
    }

    pub(super) fn detach(&mut self, namespace: &str, endpoint: &str) -> Result<(), Failure> {
        let namespace = self.namespace(namespace)?.id.clone();
        let found = self.endpoint(endpoint)?.clone();
        if found.namespace.as_ref() != Some(&namespace) {
            return Err(failure::element_not_found());
        }
        let attachment = self.attachment(&found);
        self.effects
            .extend(attachment.map(Effect::EndpointDetached));
        self.remove_from_namespace(&namespace, &found.id)?;
        self.endpoint_mut(endpoint)?.namespace = None;
        Ok(())
    }
}

impl Endpoint {
    /// The v2 document.
    pub(super) fn document(&self) -> Value {
        json!({
            "ID": self.id,
            "Name": self.name,
            "HostComputeNetwork": self.network,
            "HostComputeNamespace": self.namespace.as_deref().unwrap_or(NO_NAMESPACE),
            "Policies": self.policies.iter().map(Policy::document).collect::<Vec<_>>(),
            "IpConfigurations": self.addresses,
            "Dns": self.dns,
            "Routes": self.routes,
            "MacAddress": self.mac,
            "Flags": self.flags,
            "Health": {"Extra": {"SharedContainers": self.containers}},
            "SchemaVersion": {"Major": 2, "Minor": 0},
        })
    }

    /// For v1 updates.
    pub(super) fn set_mac(&mut self, text: &str) -> Result<(), Failure> {
        self.mac = text
            .parse::<Mac>()
            .map_err(|_| failure::invalid_endpoint())?;
        Ok(())
    }
}
