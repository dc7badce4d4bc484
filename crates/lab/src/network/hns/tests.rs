//! Behavior of the store, as callers see it.

mod agent;
mod documents;
mod effects;
mod objects;
mod reboot;
mod service;
mod v1;

use std::net::Ipv4Addr;
use std::time::Duration;

use lab_wire::Failure;
use lab_wire::hcn::{HcnCall, HnsCall, Object, Verb};
use serde_json::{Value, json};

use super::{Effect, FakeSystem, HnsVersion, Store, StoreConfig};

/// A store with a fake clock.
pub struct Host {
    pub store: Store,
    pub system: FakeSystem,
}

impl Host {
    pub fn new() -> Self {
        Self::with(HnsVersion::WS2022)
    }

    pub fn with(version: HnsVersion) -> Self {
        let config = StoreConfig {
            version,
            nic: "Ethernet".to_owned(),
            management_ip: Ipv4Addr::new(198, 18, 1, 2),
            address_delay: Duration::from_secs(1),
        };
        Self {
            store: Store::new(config),
            system: FakeSystem {
                now: 1_700_000_000_000,
                last: 0,
            },
        }
    }

    pub fn call(
        &mut self,
        verb: Verb,
        object: Object,
        id: &str,
        document: &Value,
    ) -> Result<String, Failure> {
        let call = HcnCall {
            verb,
            object,
            id: id.to_owned(),
            network: String::new(),
            document: document.to_string(),
        };
        self.store.hcn(&call, &mut self.system)
    }

    pub fn create(&mut self, object: Object, document: Value) -> Result<String, Failure> {
        self.call(Verb::Create, object, "", &document)
    }

    pub fn delete(&mut self, object: Object, id: &str) -> Result<String, Failure> {
        self.call(Verb::Delete, object, id, &json!({}))
    }

    pub fn read(&mut self, object: Object, id: &str) -> Value {
        let query = json!({"SchemaVersion": {"Major": 2, "Minor": 0}});
        serde_json::from_str(&self.call(Verb::Query, object, id, &query).unwrap()).unwrap()
    }

    pub fn find(&mut self, object: Object, filter: Value) -> Vec<String> {
        let query =
            json!({"SchemaVersion": {"Major": 2, "Minor": 0}, "Filter": filter.to_string()});
        let ids = self.call(Verb::Enumerate, object, "", &query).unwrap();
        serde_json::from_str(&ids).unwrap()
    }

    /// Sends `{ResourceType, RequestType, Settings}`.
    pub fn modify(
        &mut self,
        object: Object,
        id: &str,
        resource: &str,
        verb: &str,
        settings: Value,
    ) -> Result<String, Failure> {
        let request = json!({"ResourceType": resource, "RequestType": verb, "Settings": settings});
        self.call(Verb::Modify, object, id, &request)
    }

    pub fn v1(&mut self, method: &str, path: &str, body: Value) -> Result<Value, Failure> {
        let call = HnsCall {
            method: method.to_owned(),
            path: path.to_owned(),
            body: if body.is_null() {
                String::new()
            } else {
                body.to_string()
            },
        };
        let text = self.store.v1(&call, &mut self.system)?;
        let response: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(response["Success"], true);
        Ok(response["Output"].clone())
    }

    pub fn overlay(&mut self) -> String {
        self.create(Object::Network, overlay("flannel.4096"))
            .unwrap()
    }

    pub fn endpoint(&mut self, network: &str, more: Value) -> Result<String, Failure> {
        let mut document = json!({"HostComputeNetwork": network, "SchemaVersion": {"Major": 2}});
        for (name, value) in more.as_object().unwrap() {
            document[name] = value.clone();
        }
        self.create(Object::Endpoint, document)
    }

    pub fn effects(&mut self) -> Vec<Effect> {
        self.store.take_effects()
    }
}

/// The document that flannel sends.
pub fn overlay(name: &str) -> Value {
    json!({
        "Name": name, "Type": "Overlay", "Flags": 8,
        "SchemaVersion": {"Major": 2, "Minor": 0},
        "Policies": [{"Type": "NetAdapterName", "Settings": {"NetworkAdapterName": "Ethernet"}}],
        "Ipams": [{"Type": "Static", "Subnets": [{
            "IpAddressPrefix": "10.244.3.0/24",
            "Policies": [{"Type": "VSID", "Settings": {"IsolationId": 4096}}],
            "Routes": [{"NextHop": "10.244.3.1", "DestinationPrefix": "0.0.0.0/0"}],
        }]}],
    })
}

/// The document that scripts send for host-gw.
pub fn l2bridge(name: &str) -> Value {
    json!({
        "Name": name, "Type": "L2Bridge", "SchemaVersion": {"Major": 2, "Minor": 0},
        "Ipams": [{"Type": "Static", "Subnets": [{
            "IpAddressPrefix": "10.244.4.0/24",
            "Routes": [{"NextHop": "10.244.4.1", "DestinationPrefix": "0.0.0.0/0"}],
        }]}],
    })
}

pub fn code<T: std::fmt::Debug>(result: Result<T, Failure>) -> u32 {
    result.unwrap_err().code
}
