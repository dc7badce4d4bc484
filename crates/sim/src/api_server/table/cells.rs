//! The cells of a row for each kind.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::kinds::Kind;
use super::{age, since};

const NONE: &str = "<none>";

/// One cell per column of the kind.
pub(super) fn of(kind: &Kind, object: &Value, now: Timestamp) -> Vec<Value> {
    let name = object["metadata"]["name"].clone();
    let age = age(object, now);
    match kind.kind {
        "Node" => node(object, name, age),
        "ConfigMap" => {
            let entries = length(&object["data"]) + length(&object["binaryData"]);
            vec![name, json!(entries), age]
        }
        "Secret" => {
            let kind = object["type"].clone();
            vec![name, kind, json!(length(&object["data"])), age]
        }
        "Namespace" => vec![name, object["status"]["phase"].clone(), age],
        "Service" => service(object, name, age),
        "Pod" => pod(object, name, age),
        "Event" => event(object, name, now),
        "DaemonSet" => {
            let count = |key: &str| number(&object["status"][key]);
            let mut cells = vec![
                name,
                count("desiredNumberScheduled"),
                count("currentNumberScheduled"),
                count("numberReady"),
                count("updatedNumberScheduled"),
                count("numberAvailable"),
                json!(pairs(&object["spec"]["template"]["spec"]["nodeSelector"])),
                age,
            ];
            cells.extend(template(object));
            cells
        }
        "Deployment" => {
            let status = &object["status"];
            let ready = number(&status["readyReplicas"]);
            let ready = format!("{ready}/{}", number(&object["spec"]["replicas"]));
            let updated = number(&status["updatedReplicas"]);
            let available = number(&status["availableReplicas"]);
            let mut cells = vec![name, json!(ready), updated, available, age];
            cells.extend(template(object));
            cells
        }
        "ReplicaSet" => {
            let status = &object["status"];
            let desired = number(&object["spec"]["replicas"]);
            let (now, ready) = (
                number(&status["replicas"]),
                number(&status["readyReplicas"]),
            );
            let mut cells = vec![name, desired, now, ready, age];
            cells.extend(template(object));
            cells
        }
        "CertificateSigningRequest" => request(object, name, age),
        "Lease" => vec![name, object["spec"]["holderIdentity"].clone(), age],
        "RuntimeClass" => vec![name, object["handler"].clone(), age],
        "Role" | "ClusterRole" => vec![name, object["metadata"]["creationTimestamp"].clone()],
        "RoleBinding" | "ClusterRoleBinding" => binding(object, name, age),
        _ => vec![name, age],
    }
}

fn length(map: &Value) -> usize {
    map.as_object().map_or(0, serde_json::Map::len)
}

fn number(value: &Value) -> Value {
    json!(value.as_i64().unwrap_or(0))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn or<'a>(value: &'a str, other: &'a str) -> &'a str {
    if value.is_empty() { other } else { value }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// `a=b,c=d`, or `<none>`.
fn pairs(map: &Value) -> String {
    let map = map.as_object().into_iter().flatten();
    let pairs: Vec<String> = map
        .map(|(key, value)| format!("{key}={}", text(value)))
        .collect();
    or(&pairs.join(","), NONE).to_owned()
}

fn joined<'a>(items: impl Iterator<Item = &'a str>) -> String {
    items.collect::<Vec<_>>().join(",")
}

fn node(object: &Value, name: Value, age: Value) -> Vec<Value> {
    let ready =
        list(&object["status"]["conditions"]).find(|condition| condition["type"] == "Ready");
    let mut state = match ready.map(|condition| text(&condition["status"])) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }
    .to_owned();
    if object["spec"]["unschedulable"] == true {
        state.push_str(",SchedulingDisabled");
    }
    let labels = object["metadata"]["labels"]
        .as_object()
        .into_iter()
        .flatten();
    let roles = labels.filter_map(|(key, _)| key.strip_prefix("node-role.kubernetes.io/"));
    let roles = joined(roles.filter(|role| !role.is_empty()));
    let address = |kind: &str| {
        let mut addresses = list(&object["status"]["addresses"]);
        let found = addresses.find(|address| address["type"] == kind);
        json!(or(
            found.map_or("", |address| text(&address["address"])),
            NONE
        ))
    };
    let info = |key: &str| json!(or(text(&object["status"]["nodeInfo"][key]), "<unknown>"));
    vec![
        name,
        json!(state),
        json!(or(&roles, NONE)),
        age,
        object["status"]["nodeInfo"]["kubeletVersion"].clone(),
        address("InternalIP"),
        address("ExternalIP"),
        info("osImage"),
        info("kernelVersion"),
        info("containerRuntimeVersion"),
    ]
}

fn service(object: &Value, name: Value, age: Value) -> Vec<Value> {
    let spec = &object["spec"];
    let ports: Vec<String> = list(&spec["ports"])
        .map(|port| {
            let (number, protocol) = (&port["port"], text(&port["protocol"]));
            match port["nodePort"].as_u64() {
                Some(node_port) => format!("{number}:{node_port}/{protocol}"),
                None => format!("{number}/{protocol}"),
            }
        })
        .collect();
    let ingress_addresses = list(&object["status"]["loadBalancer"]["ingress"]);
    let ingress_addresses = joined(
        ingress_addresses.map(|ingress| or(text(&ingress["ip"]), text(&ingress["hostname"]))),
    );
    let external_ip = match text(&spec["type"]) {
        "LoadBalancer" => or(&ingress_addresses, "<pending>").to_owned(),
        _ => or(&joined(list(&spec["externalIPs"]).map(text)), NONE).to_owned(),
    };
    vec![
        name,
        spec["type"].clone(),
        json!(or(text(&spec["clusterIP"]), NONE)),
        json!(external_ip),
        json!(or(&ports.join(","), NONE)),
        age,
        json!(pairs(&spec["selector"])),
    ]
}

fn pod(object: &Value, name: Value, age: Value) -> Vec<Value> {
    let status = &object["status"];
    let states: Vec<&Value> = list(&status["containerStatuses"]).collect();
    let ready = states.iter().filter(|state| state["ready"] == true).count();
    let restarts: i64 = states
        .iter()
        .filter_map(|state| state["restartCount"].as_i64())
        .sum();
    let container_reason = states.iter().find_map(|state| {
        let reason = |phase: &str| state["state"][phase]["reason"].as_str();
        reason("waiting").or_else(|| reason("terminated"))
    });
    let reason = or(text(&status["reason"]), text(&status["phase"]));
    let state = match object["metadata"].get("deletionTimestamp") {
        Some(_) => "Terminating",
        None => container_reason.unwrap_or(reason),
    };
    let total = list(&object["spec"]["containers"]).count();
    vec![
        name,
        json!(format!("{ready}/{total}")),
        json!(state),
        json!(restarts.to_string()),
        age,
        json!(or(text(&status["podIP"]), NONE)),
        json!(or(text(&object["spec"]["nodeName"]), NONE)),
        json!(NONE),
        json!(NONE),
    ]
}

fn event(object: &Value, name: Value, now: Timestamp) -> Vec<Value> {
    let last = [
        &object["lastTimestamp"],
        &object["eventTime"],
        &object["firstTimestamp"],
    ];
    let last = last
        .into_iter()
        .find(|time| time.is_string())
        .unwrap_or(&Value::Null);
    let involved = &object["involvedObject"];
    let involved = format!(
        "{}/{}",
        text(&involved["kind"]).to_lowercase(),
        text(&involved["name"])
    );
    let source = or(
        text(&object["source"]["component"]),
        text(&object["reportingComponent"]),
    );
    vec![
        since(last, now),
        object["type"].clone(),
        object["reason"].clone(),
        json!(involved),
        json!(source),
        json!(text(&object["message"]).trim()),
        json!(object["count"].as_i64().unwrap_or(1)),
        name,
    ]
}

fn template(object: &Value) -> Vec<Value> {
    let containers = &object["spec"]["template"]["spec"]["containers"];
    let part = |key: &str| {
        json!(joined(
            list(containers).map(|container| text(&container[key]))
        ))
    };
    let selector = pairs(&object["spec"]["selector"]["matchLabels"]);
    vec![part("name"), part("image"), json!(selector)]
}

fn request(object: &Value, name: Value, age: Value) -> Vec<Value> {
    let spec = &object["spec"];
    let duration = spec["expirationSeconds"].as_i64();
    let duration = duration.map_or_else(|| NONE.to_owned(), |seconds| format!("{seconds}s"));
    let conditions = list(&object["status"]["conditions"]);
    let mut states: Vec<&str> = conditions
        .map(|condition| text(&condition["type"]))
        .collect();
    if states.is_empty() {
        states.push("Pending");
    }
    if object["status"]["certificate"].is_string() {
        states.push("Issued");
    }
    let requestor = spec["username"].clone();
    let signer = spec["signerName"].clone();
    vec![
        name,
        age,
        signer,
        requestor,
        json!(duration),
        json!(states.join(",")),
    ]
}

fn binding(object: &Value, name: Value, age: Value) -> Vec<Value> {
    let role = &object["roleRef"];
    let role = format!("{}/{}", text(&role["kind"]), text(&role["name"]));
    let of = |kind: &str| {
        let subjects = list(&object["subjects"]).filter(|subject| subject["kind"] == kind);
        let names: Vec<String> = subjects
            .map(|subject| match kind {
                "ServiceAccount" => {
                    format!("{}/{}", text(&subject["namespace"]), text(&subject["name"]))
                }
                _ => text(&subject["name"]).to_owned(),
            })
            .collect();
        json!(names.join(", "))
    };
    vec![
        name,
        json!(role),
        age,
        of("User"),
        of("Group"),
        of("ServiceAccount"),
    ]
}
