//! Converts policies between API versions: v2 has nested settings, v1 flat fields with
//! other names.

use lab_wire::Failure;
use serde_json::{Map, Value, json};

use super::document;
use super::failure;
use super::kind::HnsVersion;
use super::model::Policy;

/// v1 type, v2 type, and renamed fields (v1 name, v2 name).
type Names = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);
const NAMES: [Names; 6] = [
    ("NAT", "PortMapping", &[]),
    ("ROUTE", "SDNRoute", &[]),
    ("PA", "ProviderAddress", &[("PA", "ProviderAddress")]),
    ("VSID", "VSID", &[("VSID", "IsolationId")]),
    ("VLAN", "VLAN", &[("VLAN", "IsolationId")]),
    (
        "OutBoundNAT",
        "OutBoundNAT",
        &[("VIP", "VirtualIP"), ("ExceptionList", "Exceptions")],
    ),
];

impl Policy {
    /// Accepts both API versions.
    pub fn read(document: &Value) -> Result<Self, Failure> {
        let kind = document::text(document, "Type").ok_or_else(failure::invalid_policy)?;
        match document::field(document, "Settings") {
            Some(settings) => Ok(Self {
                kind,
                settings: settings.clone(),
            }),
            None => Ok(Self::from_v1(&kind, document)),
        }
    }

    fn from_v1(kind: &str, document: &Value) -> Self {
        let names = NAMES.iter().find(|(v1, ..)| v1.eq_ignore_ascii_case(kind));
        let renamed = names.map_or(&[][..], |(_, _, fields)| fields);
        let mut settings = Map::new();
        for (key, value) in document.as_object().into_iter().flatten() {
            if !key.eq_ignore_ascii_case("Type") {
                let new = renamed.iter().find(|(v1, _)| v1.eq_ignore_ascii_case(key));
                let key = new.map_or(key.as_str(), |(_, v2)| v2);
                settings.insert(key.to_owned(), value.clone());
            }
        }
        Self {
            kind: names.map_or(kind, |(_, v2, _)| v2).to_owned(),
            settings: Value::Object(settings),
        }
    }

    pub fn v1_document(&self) -> Value {
        let names = NAMES
            .iter()
            .find(|(_, v2, _)| v2.eq_ignore_ascii_case(&self.kind));
        let renamed = names.map_or(&[][..], |(_, _, fields)| fields);
        let mut flat = Map::new();
        flat.insert(
            "Type".to_owned(),
            json!(names.map_or(self.kind.as_str(), |(v1, ..)| v1)),
        );
        for (key, value) in self.settings.as_object().into_iter().flatten() {
            let old = renamed.iter().find(|(_, v2)| v2.eq_ignore_ascii_case(key));
            let key = old.map_or(key.as_str(), |(v1, _)| v1);
            flat.insert(key.to_owned(), value.clone());
        }
        Value::Object(flat)
    }

    pub fn document(&self) -> Value {
        json!({"Type": self.kind, "Settings": self.settings})
    }

    /// Case-insensitive.
    pub fn is(&self, kind: &str) -> bool {
        self.kind.eq_ignore_ascii_case(kind)
    }

    /// Protocol and external port of a port mapping.
    pub fn published_port(&self) -> Option<(u32, u64)> {
        if !self.is("PortMapping") {
            return None;
        }
        let port = document::number(&self.settings, "ExternalPort").filter(|port| *port != 0)?;
        Some((document::protocol(&self.settings), port))
    }
}

/// Rejects policy types that this HNS version does not support.
pub fn read_all(document: &Value, version: HnsVersion) -> Result<Vec<Policy>, Failure> {
    let policies = document::list(document, "Policies")
        .iter()
        .map(Policy::read);
    let policies = policies.collect::<Result<Vec<_>, _>>()?;
    match policies
        .iter()
        .all(|policy| version.supports_policy(&policy.kind))
    {
        true => Ok(policies),
        false => Err(failure::invalid_policy_type()),
    }
}
