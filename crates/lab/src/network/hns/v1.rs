//! The v1 API: `HNSCall` with a method, a path and a body, over the same store.

mod documents;
mod policy_lists;

use lab_wire::Failure;
use lab_wire::hcn::HnsCall;
use serde_json::{Value, json};

use super::document;
use super::failure;
use super::network::{default_route, read_dns};
use super::policy;
use super::store::Store;
use super::system::System;

/// `None` is a success without output.
type Output = Result<Option<Value>, Failure>;

impl Store {
    /// Trailing slashes and the case of ids are ignored.
    pub(super) fn v1_output(&mut self, call: &HnsCall, system: &mut dyn System) -> Output {
        let path: Vec<&str> = call
            .path
            .split('/')
            .filter(|part| !part.is_empty())
            .collect();
        let body = document::parse(&call.body)?;
        let method = call.method.to_ascii_uppercase();
        match (path.first().copied().unwrap_or_default(), path.get(1..)) {
            ("globals", Some(["version"])) => {
                let version = self.config.version;
                Ok(Some(
                    json!({"Major": version.major, "Minor": version.minor}),
                ))
            }
            ("networks", Some(rest)) => self.v1_networks(&method, rest, &body, system),
            ("endpoints", Some(rest)) => self.v1_endpoints(&method, rest, &body, system),
            ("endpointstats", Some([id])) => self.v1_statistics(id).map(Some),
            ("namespaces", Some(rest)) => self.v1_namespaces(&method, rest, &body, system),
            ("policylists", Some(rest)) => self.v1_policy_lists(&method, rest, &body, system),
            ("accelnet", Some([])) => self.v1_accelnet(&method, &body),
            _ => Err(failure::element_not_found()),
        }
    }

    fn v1_networks(
        &mut self,
        method: &str,
        path: &[&str],
        body: &Value,
        system: &mut dyn System,
    ) -> Output {
        let now = system.now();
        match (method, path) {
            ("GET", []) => {
                let networks = self.state.networks.iter();
                let list: Vec<Value> = networks.map(|it| self.v1_network(it, now)).collect();
                Ok(Some(Value::Array(list)))
            }
            ("POST", []) => {
                let id = self.choose_id("", body, system)?;
                self.create_network(&id, body, system)?;
                Ok(Some(self.v1_network(self.network(&id)?, now)))
            }
            ("GET", [id]) => Ok(Some(self.v1_network(self.network(id)?, now))),
            ("POST", [id]) => {
                let new = json!({"ResourceType": "DNS", "Settings": read_dns(body)});
                self.modify_network(id, &new)?;
                let policies = document::list(body, "Policies");
                if !policies.is_empty() {
                    let settings = json!({"Policies": policies});
                    let new = json!({"ResourceType": "Policy", "RequestType": "Update", "Settings": settings});
                    self.modify_network(id, &new)?;
                }
                Ok(Some(self.v1_network(self.network(id)?, now)))
            }
            ("DELETE", [id]) => self.delete_network(id).map(|()| None),
            _ => Err(failure::unsupported()),
        }
    }

    fn v1_endpoints(
        &mut self,
        method: &str,
        path: &[&str],
        body: &Value,
        system: &mut dyn System,
    ) -> Output {
        match (method, path) {
            ("GET", []) => {
                let endpoints = self.state.endpoints.iter();
                let list: Vec<Value> = endpoints.map(|it| self.v1_endpoint(it)).collect();
                Ok(Some(Value::Array(list)))
            }
            ("POST", []) => {
                let id = self.choose_id("", body, system)?;
                self.create_endpoint(&id, "", body)?;
                Ok(Some(self.v1_endpoint(self.endpoint(&id)?)))
            }
            ("GET", [id]) => Ok(Some(self.v1_endpoint(self.endpoint(id)?))),
            ("POST", [id]) => {
                self.v1_update_endpoint(id, body)?;
                Ok(Some(self.v1_endpoint(self.endpoint(id)?)))
            }
            ("POST", [id, "attach"]) => self.v1_attach(id, body).map(|()| None),
            ("POST", [id, "detach"]) => self.v1_detach(id, body).map(|()| None),
            ("DELETE", [id]) => self.delete_endpoint(id).map(|()| None),
            _ => Err(failure::unsupported()),
        }
    }

    /// Replaces only the fields in the request; addresses cannot be changed.
    fn v1_update_endpoint(&mut self, id: &str, body: &Value) -> Result<(), Failure> {
        let policies = policy::read_all(body, self.config.version)?;
        let dns = read_dns(body);
        let endpoint = self.endpoint_mut(id)?;
        if document::field(body, "Policies").is_some() {
            endpoint.policies = policies;
        }
        if dns != json!({}) {
            endpoint.dns = dns;
        }
        if let Some(mac) = document::text(body, "MacAddress") {
            endpoint.set_mac(&mac)?;
        }
        if let Some(gateway) = document::text(body, "GatewayAddress") {
            endpoint.routes = vec![default_route(gateway)];
        }
        Ok(())
    }

    /// Attaches to the host's compartment, or to a container, of which only the id is
    /// stored.
    fn v1_attach(&mut self, id: &str, body: &Value) -> Result<(), Failure> {
        let endpoint = self.endpoint(id)?;
        let container = document::text(body, "ContainerId");
        if endpoint.namespace.is_some()
            || container
                .as_ref()
                .is_some_and(|it| endpoint.containers.contains(it))
        {
            return Err(failure::already_attached());
        }
        match document::text(body, "SystemType").as_deref() {
            Some("Host") => {
                let host = self.host_namespace()?;
                self.attach(&host, id)
            }
            _ => {
                let endpoint = self.endpoint_mut(id)?;
                endpoint.containers.extend(container);
                endpoint.was_attached = true;
                Ok(())
            }
        }
    }

    fn v1_detach(&mut self, id: &str, body: &Value) -> Result<(), Failure> {
        let endpoint = self.endpoint_mut(id)?;
        if let Some(container) = document::text(body, "ContainerId") {
            endpoint.containers.retain(|it| it != &container);
        }
        match endpoint.namespace.clone() {
            Some(namespace) => self.detach(&namespace, id),
            None => Ok(()),
        }
    }

    fn v1_namespaces(
        &mut self,
        method: &str,
        path: &[&str],
        body: &Value,
        system: &mut dyn System,
    ) -> Output {
        match (method, path) {
            ("GET", []) => {
                let list = self.state.namespaces.iter().map(|it| it.v1_document());
                Ok(Some(Value::Array(list.collect())))
            }
            ("POST", []) => {
                let id = self.choose_id("", body, system)?;
                self.create_namespace(&id, body)?;
                Ok(Some(self.namespace(&id)?.v1_document()))
            }
            ("GET", [id]) => Ok(Some(self.namespace(id)?.v1_document())),
            ("DELETE", [id]) => self.delete_namespace(id).map(|()| None),
            ("POST", [id, change @ ("addresource" | "removeresource")]) => {
                let data = document::field(body, "Data").unwrap_or(&Value::Null);
                let resource = document::text(data, "Id").unwrap_or_default();
                let request = json!({
                    "ResourceType": document::text(body, "Type"),
                    "RequestType": if *change == "addresource" { "Add" } else { "Remove" },
                    "Settings": {"EndpointId": resource, "ContainerId": resource},
                });
                self.modify_namespace(id, &request).map(|()| None)
            }
            _ => Err(failure::unsupported()),
        }
    }

    fn v1_accelnet(&mut self, method: &str, body: &Value) -> Output {
        match method {
            "GET" => {}
            "POST" => self.state.accelnet = document::list(body, "MacAddressList").to_vec(),
            "DELETE" => self.state.accelnet.clear(),
            _ => return Err(failure::unsupported()),
        }
        Ok(Some(json!({"MacAddressList": self.state.accelnet})))
    }
}
