//! Load balancers and SDN routes, as kube-proxy creates them.

use lab_wire::Failure;
use serde_json::{Value, json};

use super::document;
use super::failure;
use super::kind::HnsVersion;
use super::model::{LoadBalancer, PortMapping, SdnRoute};
use super::store::{Store, normal_id};

/// The limit of VFP.
const MAX_BACKENDS: usize = 64;
/// Earlier versions reject the modification of a load balancer as not implemented,
/// this version accepts and ignores it, later versions apply it.
const IGNORES_MODIFY: HnsVersion = HnsVersion::new(15, 4);
const IPV6: u32 = 2;

impl Store {
    pub(super) fn load_balancer(&self, id: &str) -> Result<&LoadBalancer, Failure> {
        let id = normal_id(id);
        let mut balancers = self.state.load_balancers.iter();
        balancers
            .find(|balancer| balancer.id == id)
            .ok_or_else(failure::element_not_found)
    }

    pub(super) fn create_load_balancer(
        &mut self,
        id: &str,
        settings: &Value,
    ) -> Result<(), Failure> {
        let balancer = LoadBalancer::read(id, settings)?;
        self.add_load_balancer(balancer)
    }

    pub(super) fn add_load_balancer(&mut self, new: LoadBalancer) -> Result<(), Failure> {
        self.check_backends(&new)?;
        for other in &self.state.load_balancers {
            if new.equals_except_id(other) {
                return Err(failure::file_exists());
            }
            if new.conflicts_with(other) {
                return Err(failure::port_exists());
            }
        }
        self.state.load_balancers.push(new);
        Ok(())
    }

    fn check_backends(&self, balancer: &LoadBalancer) -> Result<(), Failure> {
        if balancer.ports.is_empty() {
            return Err(failure::invalid_policy());
        }
        if balancer.endpoints.len() > MAX_BACKENDS {
            return Err(failure::too_many_destinations());
        }
        let mut endpoints = balancer.endpoints.iter();
        endpoints.try_for_each(|id| self.endpoint(id).map(|_| ()))
    }

    /// `document` is the whole load balancer, without an envelope.
    pub(super) fn modify_load_balancer(
        &mut self,
        id: &str,
        document: &Value,
    ) -> Result<(), Failure> {
        let id = self.load_balancer(id)?.id.clone();
        match self.config.version {
            version if version < IGNORES_MODIFY => return Err(failure::not_implemented()),
            version if version == IGNORES_MODIFY => return Ok(()),
            _ => {}
        }
        let new = LoadBalancer::read(&id, document)?;
        self.check_backends(&new)?;
        let others = self.state.load_balancers.iter().filter(|it| it.id != id);
        if others.into_iter().any(|other| new.conflicts_with(other)) {
            return Err(failure::port_exists());
        }
        let old = self.state.load_balancers.iter_mut().find(|it| it.id == id);
        if let Some(old) = old {
            *old = new;
        }
        Ok(())
    }

    pub(super) fn delete_load_balancer(&mut self, id: &str) -> Result<(), Failure> {
        let id = self.load_balancer(id)?.id.clone();
        self.state.load_balancers.retain(|it| it.id != id);
        Ok(())
    }

    pub(super) fn route(&self, id: &str) -> Result<&SdnRoute, Failure> {
        let id = normal_id(id);
        let mut routes = self.state.routes.iter();
        routes
            .find(|route| route.id == id)
            .ok_or_else(failure::element_not_found)
    }

    /// The schema has `Routes`, but callers send `Setting`.
    pub(super) fn create_route(&mut self, id: &str, settings: &Value) -> Result<(), Failure> {
        let routes = document::list(settings, "Routes").iter();
        let routes = routes.chain(document::list(settings, "Setting"));
        let route = SdnRoute {
            id: id.to_owned(),
            endpoints: read_endpoints(settings),
            settings: routes.cloned().collect(),
        };
        self.add_route(route)
    }

    pub(super) fn add_route(&mut self, route: SdnRoute) -> Result<(), Failure> {
        for id in &route.endpoints {
            self.endpoint(id)?;
        }
        self.state.routes.push(route);
        Ok(())
    }

    pub(super) fn delete_route(&mut self, id: &str) -> Result<(), Failure> {
        let id = self.route(id)?.id.clone();
        self.state.routes.retain(|it| it.id != id);
        Ok(())
    }
}

fn read_endpoints(settings: &Value) -> Vec<String> {
    let ids = document::texts(settings, "HostComputeEndpoints");
    ids.iter().map(|id| normal_id(id)).collect()
}

impl PortMapping {
    /// Accepts both API versions.
    pub(super) fn read(document: &Value) -> Self {
        let port = |name| {
            let port = document::number(document, name).unwrap_or(0);
            u16::try_from(port).unwrap_or(0)
        };
        let number = |name| document::number32(document, name).unwrap_or(0);
        Self {
            protocol: document::protocol(document),
            internal_port: port("InternalPort"),
            external_port: port("ExternalPort"),
            distribution_type: number("DistributionType"),
            flags: number("Flags"),
        }
    }
}

impl LoadBalancer {
    fn read(id: &str, settings: &Value) -> Result<Self, Failure> {
        let ports = document::list(settings, "PortMappings").iter();
        Ok(Self {
            id: id.to_owned(),
            endpoints: read_endpoints(settings),
            source_vip: document::text(settings, "SourceVIP"),
            vips: document::texts(settings, "FrontendVIPs"),
            ports: ports.map(PortMapping::read).collect(),
            flags: document::number32(settings, "Flags").unwrap_or(0),
        })
    }

    fn equals_except_id(&self, other: &Self) -> bool {
        let with_id = Self {
            id: other.id.clone(),
            ..self.clone()
        };
        &with_id == other
    }

    /// Same address (or both without one), protocol, external port and family.
    fn conflicts_with(&self, other: &Self) -> bool {
        let node_port = self.vips.is_empty() && other.vips.is_empty();
        let address = node_port || self.vips.iter().any(|vip| other.vips.contains(vip));
        let same_port = |one: &PortMapping| {
            let key = (one.protocol, one.external_port);
            let mut others = other.ports.iter();
            others.any(|it| (it.protocol, it.external_port) == key)
        };
        address && self.flags & IPV6 == other.flags & IPV6 && self.ports.iter().any(same_port)
    }

    /// The v2 document.
    pub(super) fn document(&self) -> Value {
        let mut document = json!({
            "ID": self.id,
            "HostComputeEndpoints": self.endpoints,
            "PortMappings": self.ports,
            "Flags": self.flags,
            "SchemaVersion": {"Major": 2, "Minor": 0},
        });
        if let Some(fields) = document.as_object_mut() {
            if let Some(source) = &self.source_vip {
                fields.insert("SourceVIP".to_owned(), json!(source));
            }
            if !self.vips.is_empty() {
                fields.insert("FrontendVIPs".to_owned(), json!(self.vips));
            }
        }
        document
    }
}

impl SdnRoute {
    /// The v2 document, with the routes under both names.
    pub(super) fn document(&self) -> Value {
        json!({
            "ID": self.id,
            "HostComputeEndpoints": self.endpoints,
            "Setting": self.settings,
            "Routes": self.settings,
            "SchemaVersion": {"Major": 2, "Minor": 0},
        })
    }
}
