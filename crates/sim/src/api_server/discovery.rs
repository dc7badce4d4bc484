//! Discovery and health endpoints: versions, groups, resources.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::kinds::{KINDS, Kind};
use super::reviews::REVIEWS;
use super::state::Server;

const VERBS: &[&str] = &[
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];

/// Subresources besides `status`: parent kind, name, own kind, verbs.
pub(super) const SUBRESOURCES: &[(&str, &str, &str, &[&str])] = &[
    (
        "CertificateSigningRequest",
        "approval",
        "CertificateSigningRequest",
        &["get", "patch", "update"],
    ),
    ("Pod", "binding", "Binding", &["create"]),
    ("Pod", "eviction", "Eviction", &["create"]),
    ("ServiceAccount", "token", "TokenRequest", &["create"]),
];

/// Response body of a non-resource path.
pub(super) enum DiscoveryBody {
    Json(Value),
    Text(&'static str),
}

pub(super) fn respond(server: &Server, path: &str) -> Option<DiscoveryBody> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let body = match parts.as_slice() {
        ["version"] => version(&server.version),
        ["healthz" | "livez" | "readyz", ..] => return Some(DiscoveryBody::Text("ok")),
        ["api"] => json!({
            "kind": "APIVersions", "versions": ["v1"],
            "serverAddressByClientCIDRs": [
                {"clientCIDR": "0.0.0.0/0", "serverAddress": server.address},
            ],
        }),
        ["api", "v1"] => resources(""),
        ["apis"] => {
            let groups: Vec<Value> = groups().into_iter().map(group).collect();
            json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
        }
        ["apis", name] if groups().contains(name) => {
            let mut body = group(name);
            if let Some(fields) = body.as_object_mut() {
                fields.insert("kind".to_owned(), json!("APIGroup"));
                fields.insert("apiVersion".to_owned(), json!("v1"));
            }
            body
        }
        ["apis", name, "v1"] if groups().contains(name) => resources(name),
        _ => return None,
    };
    Some(DiscoveryBody::Json(body))
}

pub(super) fn is_served(group: &str, version: &str) -> bool {
    version == "v1" && (group.is_empty() || groups().contains(group))
}

fn groups() -> BTreeSet<&'static str> {
    let kinds = KINDS.iter().map(|kind| kind.group);
    let reviews = REVIEWS.iter().map(|(group, _, _)| *group);
    kinds
        .chain(reviews)
        .filter(|group| !group.is_empty())
        .collect()
}

fn group(name: &str) -> Value {
    let version = json!({"groupVersion": format!("{name}/v1"), "version": "v1"});
    json!({"name": name, "versions": [version], "preferredVersion": version})
}

fn resources(group: &str) -> Value {
    let mut list = Vec::new();
    for kind in KINDS.iter().filter(|kind| kind.group == group) {
        list.push(resource(kind));
        let own = ("status", kind.kind, ["get", "patch", "update"].as_slice());
        let own = kind.status.then_some(own);
        let others = SUBRESOURCES.iter().filter(|(of, ..)| *of == kind.kind);
        let others = others.map(|(_, name, kind, verbs)| (*name, *kind, *verbs));
        for (name, subresource_kind, verbs) in own.into_iter().chain(others) {
            let mut entry = json!({
                "name": format!("{}/{name}", kind.plural), "singularName": "",
                "namespaced": kind.namespaced, "kind": subresource_kind, "verbs": verbs,
            });
            let other_group = match subresource_kind {
                "Eviction" => Some("policy"),
                "TokenRequest" => Some("authentication.k8s.io"),
                _ => None,
            };
            if let (Some(group), Some(fields)) = (other_group, entry.as_object_mut()) {
                fields.insert("group".to_owned(), json!(group));
                fields.insert("version".to_owned(), json!("v1"));
            }
            list.push(entry);
        }
    }
    for (_, plural, kind) in REVIEWS.iter().filter(|(of, ..)| *of == group) {
        list.push(json!({
            "name": plural, "singularName": kind.to_lowercase(), "namespaced": false,
            "kind": kind, "verbs": ["create"],
        }));
    }
    let version = match group {
        "" => "v1".to_owned(),
        group => format!("{group}/v1"),
    };
    json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": list,
    })
}

fn resource(kind: &Kind) -> Value {
    let mut entry = json!({
        "name": kind.plural, "singularName": kind.singular(), "namespaced": kind.namespaced,
        "kind": kind.kind, "verbs": VERBS,
    });
    let workload = ["DaemonSet", "Deployment", "Pod", "ReplicaSet", "Service"];
    if let Some(fields) = entry.as_object_mut() {
        if !kind.short_names.is_empty() {
            fields.insert("shortNames".to_owned(), json!(kind.short_names));
        }
        if workload.contains(&kind.kind) {
            fields.insert("categories".to_owned(), json!(["all"]));
        }
    }
    entry
}

fn version(version: &str) -> Value {
    let mut parts = version.trim_start_matches('v').split('.');
    let mut part = || parts.next().unwrap_or("0").to_owned();
    json!({
        "major": part(), "minor": part(), "gitVersion": version, "gitCommit": "",
        "gitTreeState": "", "buildDate": "1970-01-01T00:00:00Z", "goVersion": "",
        "compiler": "", "platform": "linux/amd64",
    })
}
