//! Policy lists, the v1 form of load balancers and routes.

use lab_wire::Failure;
use serde_json::{Value, json};

use super::super::document;
use super::super::failure;
use super::super::model::{LoadBalancer, PortMapping, SdnRoute};
use super::super::store::{Store, normal_id};
use super::super::system::System;

const DIRECT_SERVER_RETURN: u32 = 1;
const INTERNAL: u32 = 1;

impl Store {
    pub(super) fn v1_policy_lists(
        &mut self,
        method: &str,
        path: &[&str],
        body: &Value,
        system: &mut dyn System,
    ) -> super::Output {
        match (method, path) {
            ("GET", []) => {
                let balancers = self.state.load_balancers.iter().map(|it| it.v1_document());
                let routes = self.state.routes.iter().map(|it| it.v1_document());
                Ok(Some(Value::Array(balancers.chain(routes).collect())))
            }
            ("POST", []) => {
                let id = self.choose_id("", body, system)?;
                self.add_policy_list(&id, body)?;
                self.policy_list(&id).map(Some)
            }
            ("GET", [id]) => self.policy_list(id).map(Some),
            ("DELETE", [id]) => {
                let deleted = self.delete_load_balancer(id);
                deleted.or_else(|_| self.delete_route(id)).map(|()| None)
            }
            _ => Err(failure::unsupported()),
        }
    }

    fn policy_list(&self, id: &str) -> Result<Value, Failure> {
        let balancer = self.load_balancer(id).map(LoadBalancer::v1_document);
        balancer.or_else(|_| self.route(id).map(SdnRoute::v1_document))
    }

    fn add_policy_list(&mut self, id: &str, body: &Value) -> Result<(), Failure> {
        let references = document::texts(body, "References");
        let endpoints = references
            .iter()
            .filter_map(|path| path.rsplit('/').next())
            .map(normal_id)
            .collect();
        let of_kind = |kind: &str| -> Vec<&Value> {
            let policies = document::list(body, "Policies").iter();
            let is = |it: &&Value| {
                document::text(it, "Type").is_some_and(|it| it.eq_ignore_ascii_case(kind))
            };
            policies.filter(is).collect()
        };
        let (balanced, routed) = (of_kind("ELB"), of_kind("ROUTE"));
        if let Some(first) = balanced.first() {
            return self.add_load_balancer(LoadBalancer {
                id: id.to_owned(),
                endpoints,
                source_vip: document::text(first, "SourceVIP"),
                vips: document::texts(first, "VIPs"),
                ports: balanced.iter().map(|it| read_port(it)).collect(),
                flags: u32::from(document::flag(first, "IsDSR")) * DIRECT_SERVER_RETURN,
            });
        }
        if routed.is_empty() {
            return Err(failure::invalid_policy());
        }
        let settings = routed.into_iter().map(|policy| {
            json!({
                "DestinationPrefix": document::text(policy, "DestinationPrefix"),
                "NextHop": document::text(policy, "NextHop"),
                "NeedEncap": document::flag(policy, "NeedEncap"),
            })
        });
        self.add_route(SdnRoute {
            id: id.to_owned(),
            endpoints,
            settings: settings.collect(),
        })
    }
}

fn read_port(policy: &Value) -> PortMapping {
    PortMapping {
        flags: u32::from(document::flag(policy, "ILB")) * INTERNAL,
        ..PortMapping::read(policy)
    }
}

fn references(endpoints: &[String]) -> Vec<String> {
    endpoints
        .iter()
        .map(|id| format!("/endpoints/{id}"))
        .collect()
}

impl LoadBalancer {
    pub(in super::super) fn v1_document(&self) -> Value {
        let policies = self.ports.iter().map(|port| {
            json!({
                "Type": "ELB",
                "Protocol": port.protocol,
                "InternalPort": port.internal_port,
                "ExternalPort": port.external_port,
                "SourceVIP": self.source_vip.as_deref().unwrap_or_default(),
                "VIPs": self.vips,
                "ILB": port.flags & INTERNAL != 0,
                "IsDSR": self.flags & DIRECT_SERVER_RETURN != 0,
            })
        });
        json!({
            "ID": self.id.to_ascii_uppercase(),
            "References": references(&self.endpoints),
            "Policies": policies.collect::<Vec<_>>(),
        })
    }
}

impl SdnRoute {
    pub(in super::super) fn v1_document(&self) -> Value {
        let policies = self.settings.iter().map(|setting| {
            let mut policy = setting.clone();
            if let Some(fields) = policy.as_object_mut() {
                fields.insert("Type".to_owned(), json!("ROUTE"));
            }
            policy
        });
        json!({
            "ID": self.id.to_ascii_uppercase(),
            "References": references(&self.endpoints),
            "Policies": policies.collect::<Vec<_>>(),
        })
    }
}
