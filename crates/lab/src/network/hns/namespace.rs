//! Creates, reads, modifies and deletes namespaces, the networks of pods.

use lab_wire::Failure;
use serde_json::{Value, json};

use super::document;
use super::fabric::Effect;
use super::failure;
use super::model::Namespace;
use super::store::{Store, normal_id};

/// The compartment of the host.
const HOST_COMPARTMENT: u32 = 1;
/// An arbitrary fixed id.
const HOST_NAMESPACE: &str = "a86a1b0c-3d6e-4a57-9c55-8d1f0c5e0001";

impl Namespace {
    /// The namespace of the host itself.
    pub(super) fn host() -> Self {
        Self {
            id: HOST_NAMESPACE.to_owned(),
            kind: "HostDefault".to_owned(),
            compartment: HOST_COMPARTMENT,
            is_default: true,
            endpoints: Vec::new(),
            containers: Vec::new(),
        }
    }

    /// The v2 document.
    pub(super) fn document(&self) -> Value {
        let mut document = json!({
            "ID": self.id,
            "Type": self.kind,
            "Resources": self.resources(),
            "SchemaVersion": {"Major": 2, "Minor": 0},
        });
        if let (1.., Some(fields)) = (self.compartment, document.as_object_mut()) {
            fields.insert("NamespaceId".to_owned(), json!(self.compartment));
        }
        document
    }

    pub(super) fn v1_document(&self) -> Value {
        json!({
            "ID": self.id.to_ascii_uppercase(),
            "IsDefault": self.is_default,
            "CompartmentId": self.compartment,
            "CompartmentGuid": self.id.to_ascii_uppercase(),
            "Containers": self.containers,
            "ResourceList": self.resources(),
        })
    }

    fn resources(&self) -> Vec<Value> {
        let resource = |kind: &'static str| move |id| json!({"Type": kind, "Data": {"Id": id}});
        let endpoints = self.endpoints.iter().map(resource("Endpoint"));
        endpoints
            .chain(self.containers.iter().map(resource("Container")))
            .collect()
    }
}

impl Store {
    pub(super) fn namespace(&self, id: &str) -> Result<&Namespace, Failure> {
        let id = normal_id(id);
        self.state
            .namespaces
            .iter()
            .find(|namespace| namespace.id == id)
            .ok_or_else(failure::element_not_found)
    }

    fn namespace_mut(&mut self, id: &str) -> Result<&mut Namespace, Failure> {
        let id = normal_id(id);
        self.state
            .namespaces
            .iter_mut()
            .find(|namespace| namespace.id == id)
            .ok_or_else(failure::element_not_found)
    }

    pub(super) fn create_namespace(&mut self, id: &str, settings: &Value) -> Result<(), Failure> {
        let kind = document::text(settings, "Type").unwrap_or_else(|| "Host".to_owned());
        self.state.namespaces.push(Namespace {
            id: id.to_owned(),
            kind,
            compartment: document::number32(settings, "NamespaceId").unwrap_or(0),
            is_default: false,
            endpoints: Vec::new(),
            containers: Vec::new(),
        });
        self.effects.push(Effect::NamespaceCreated(id.to_owned()));
        Ok(())
    }

    /// `{ResourceType: Endpoint or Container, RequestType, Settings}`.
    pub(super) fn modify_namespace(&mut self, id: &str, request: &Value) -> Result<(), Failure> {
        let settings = document::field(request, "Settings").unwrap_or(&Value::Null);
        let resource = document::text(request, "ResourceType").unwrap_or_default();
        let verb = document::text(request, "RequestType").unwrap_or_default();
        let endpoint = document::text(settings, "EndpointId").unwrap_or_default();
        let container = document::text(settings, "ContainerId").unwrap_or_default();
        match (resource.as_str(), verb.as_str()) {
            ("Endpoint", "Add") => self.attach(id, &endpoint),
            ("Endpoint", "Remove") => self.detach(id, &endpoint),
            ("Container", "Add") => {
                self.namespace_mut(id)?.containers.push(container);
                Ok(())
            }
            ("Container", "Remove") => {
                let containers = &mut self.namespace_mut(id)?.containers;
                containers.retain(|known| known != &container);
                Ok(())
            }
            (_, "Refresh" | "Update") => self.namespace(id).map(|_| ()),
            _ => Err(failure::unsupported()),
        }
    }

    /// Fails for the host's own namespace and for one with containers.
    pub(super) fn delete_namespace(&mut self, id: &str) -> Result<(), Failure> {
        let namespace = self.namespace(id)?.clone();
        if namespace.is_default || !namespace.containers.is_empty() {
            return Err(failure::unsupported());
        }
        for endpoint in &namespace.endpoints {
            self.detach(&namespace.id, endpoint)?;
        }
        self.state.namespaces.retain(|it| it.id != namespace.id);
        self.effects.push(Effect::NamespaceRemoved(namespace.id));
        Ok(())
    }

    pub(super) fn host_namespace(&self) -> Result<String, Failure> {
        let mut namespaces = self.state.namespaces.iter();
        let host = namespaces.find(|namespace| namespace.is_default);
        host.map(|namespace| namespace.id.clone())
            .ok_or_else(failure::element_not_found)
    }

    /// A namespace gets its compartment with the first endpoint.
    pub(super) fn add_to_namespace(
        &mut self,
        namespace: &str,
        endpoint: &str,
    ) -> Result<(), Failure> {
        let used = self.state.namespaces.iter().map(|it| it.compartment);
        let next = used.max().unwrap_or(HOST_COMPARTMENT).max(HOST_COMPARTMENT) + 1;
        let namespace = self.namespace_mut(namespace)?;
        if namespace.compartment == 0 {
            namespace.compartment = next;
        }
        namespace.endpoints.push(endpoint.to_owned());
        Ok(())
    }

    pub(super) fn remove_from_namespace(
        &mut self,
        namespace: &str,
        endpoint: &str,
    ) -> Result<(), Failure> {
        let endpoints = &mut self.namespace_mut(namespace)?.endpoints;
        endpoints.retain(|id| id != endpoint);
        Ok(())
    }
}
