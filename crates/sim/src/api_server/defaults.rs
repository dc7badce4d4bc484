//! Defaulting, as in a real API server.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::kinds::Kind;

/// Sets a value if it is absent; creates parent objects.
pub(super) fn fill(object: &mut Value, path: &[&str], value: Value) {
    match path {
        [] => {
            if object.is_null() {
                *object = value;
            }
        }
        [first, rest @ ..] => {
            if object.is_null() {
                *object = Value::Object(Map::new());
            }
            if let Value::Object(fields) = object {
                let below = fields.entry((*first).to_owned()).or_insert(Value::Null);
                fill(below, rest, value);
            }
        }
    }
}

/// Sets a value, replacing an existing one.
pub(super) fn put(object: &mut Value, path: &[&str], value: Value) {
    fill(object, path, Value::Null);
    let slot = path
        .iter()
        .try_fold(object, |object, key| object.get_mut(*key));
    if let Some(slot) = slot {
        *slot = value;
    }
}

pub(super) fn set(kind: &Kind, object: &mut Value) {
    match kind.kind {
        "Secret" => secret(object),
        "Namespace" => {
            let name = object["metadata"]["name"].clone();
            fill(
                object,
                &["metadata", "labels", "kubernetes.io/metadata.name"],
                name,
            );
        }
        "Pod" => {
            if let Some(spec) = object.get_mut("spec") {
                pod(spec);
                fill(spec, &["enableServiceLinks"], json!(true));
                fill(spec, &["serviceAccountName"], json!("default"));
            }
        }
        "DaemonSet" => {
            template(object);
            let rolling = json!({"maxSurge": 0, "maxUnavailable": 1});
            fill(
                object,
                &["spec", "updateStrategy", "type"],
                json!("RollingUpdate"),
            );
            if object["spec"]["updateStrategy"]["type"] == "RollingUpdate" {
                fill(
                    object,
                    &["spec", "updateStrategy", "rollingUpdate"],
                    rolling,
                );
            }
            fill(object, &["spec", "revisionHistoryLimit"], json!(10));
        }
        "Deployment" => {
            template(object);
            let rolling = json!({"maxSurge": "25%", "maxUnavailable": "25%"});
            fill(object, &["spec", "replicas"], json!(1));
            fill(
                object,
                &["spec", "strategy", "type"],
                json!("RollingUpdate"),
            );
            if object["spec"]["strategy"]["type"] == "RollingUpdate" {
                fill(object, &["spec", "strategy", "rollingUpdate"], rolling);
            }
            fill(object, &["spec", "revisionHistoryLimit"], json!(10));
            fill(object, &["spec", "progressDeadlineSeconds"], json!(600));
        }
        "ReplicaSet" => {
            template(object);
            fill(object, &["spec", "replicas"], json!(1));
        }
        "Service" => service(object),
        "RoleBinding" | "ClusterRoleBinding" => {
            let group = json!("rbac.authorization.k8s.io");
            for subject in items(object, &["subjects"]) {
                if subject["kind"] != "ServiceAccount" {
                    fill(subject, &["apiGroup"], group.clone());
                }
            }
        }
        _ => {}
    }
}

/// Fills in fields that the server sets and no manager owns.
pub(super) fn set_unowned(kind: &Kind, object: &mut Value) {
    match kind.kind {
        "Namespace" => {
            fill(object, &["spec", "finalizers"], json!(["kubernetes"]));
            fill(object, &["status", "phase"], json!("Active"));
        }
        "Node" => node(object),
        "Pod" => {
            fill(object, &["status", "phase"], json!("Pending"));
            fill(object, &["status", "qosClass"], json!("BestEffort"));
        }
        "DaemonSet" => {
            for count in [
                "currentNumberScheduled",
                "desiredNumberScheduled",
                "numberMisscheduled",
                "numberReady",
            ] {
                fill(object, &["status", count], json!(0));
            }
        }
        "ReplicaSet" => fill(object, &["status", "replicas"], json!(0)),
        "Service" => fill(object, &["status", "loadBalancer"], json!({})),
        "Deployment" | "CertificateSigningRequest" => fill(object, &["status"], json!({})),
        _ => {}
    }
}

/// The items of a list, if there is one.
fn items<'a>(object: &'a mut Value, path: &[&str]) -> impl Iterator<Item = &'a mut Value> {
    let list = path
        .iter()
        .try_fold(object, |object, key| object.get_mut(*key));
    list.and_then(Value::as_array_mut).into_iter().flatten()
}

fn secret(object: &mut Value) {
    fill(object, &["type"], json!("Opaque"));
    let Some(Value::Object(plain)) = object.get_mut("stringData").map(Value::take) else {
        return;
    };
    for (key, value) in plain {
        let text = value.as_str().unwrap_or_default();
        put(object, &["data", &key], json!(STANDARD.encode(text)));
    }
    if let Some(fields) = object.as_object_mut() {
        fields.remove("stringData");
    }
}

fn node(object: &mut Value) {
    fill(object, &["spec"], json!({}));
    fill(
        object,
        &["status", "daemonEndpoints"],
        json!({"kubeletEndpoint": {"Port": 0}}),
    );
    for key in [
        "architecture",
        "bootID",
        "containerRuntimeVersion",
        "kernelVersion",
        "kubeProxyVersion",
        "kubeletVersion",
        "machineID",
        "operatingSystem",
        "osImage",
        "systemUUID",
    ] {
        fill(object, &["status", "nodeInfo", key], json!(""));
    }
}

fn service(object: &mut Value) {
    fill(object, &["spec", "type"], json!("ClusterIP"));
    fill(object, &["spec", "sessionAffinity"], json!("None"));
    fill(object, &["spec", "internalTrafficPolicy"], json!("Cluster"));
    if matches!(
        object["spec"]["type"].as_str(),
        Some("NodePort" | "LoadBalancer")
    ) {
        fill(object, &["spec", "externalTrafficPolicy"], json!("Cluster"));
    }
    for port in items(object, &["spec", "ports"]) {
        let number = port["port"].clone();
        fill(port, &["protocol"], json!("TCP"));
        fill(port, &["targetPort"], number);
    }
}

fn template(object: &mut Value) {
    let spec = object
        .get_mut("spec")
        .and_then(|spec| spec.get_mut("template"));
    if let Some(spec) = spec.and_then(|template| template.get_mut("spec")) {
        pod(spec);
    }
}

fn pod(spec: &mut Value) {
    fill(spec, &["restartPolicy"], json!("Always"));
    fill(spec, &["terminationGracePeriodSeconds"], json!(30));
    fill(spec, &["dnsPolicy"], json!("ClusterFirst"));
    fill(spec, &["securityContext"], json!({}));
    fill(spec, &["schedulerName"], json!("default-scheduler"));
    let account = spec["serviceAccountName"].clone();
    if account.is_string() {
        put(spec, &["serviceAccount"], account);
    }
    for list in ["containers", "initContainers"] {
        for container in items(spec, &[list]) {
            let image = container["image"].as_str().unwrap_or_default();
            let (_, last) = image.rsplit_once('/').unwrap_or(("", image));
            let latest = !last.contains(':') || last.ends_with(":latest");
            let policy = if latest { "Always" } else { "IfNotPresent" };
            fill(container, &["imagePullPolicy"], json!(policy));
            fill(container, &["resources"], json!({}));
            fill(
                container,
                &["terminationMessagePath"],
                json!("/dev/termination-log"),
            );
            fill(container, &["terminationMessagePolicy"], json!("File"));
            for port in items(container, &["ports"]) {
                fill(port, &["protocol"], json!("TCP"));
            }
        }
    }
    for volume in items(spec, &["volumes"]) {
        for source in ["configMap", "secret", "projected", "downwardAPI"] {
            if volume.get(source).is_some() {
                fill(volume, &[source, "defaultMode"], json!(420));
            }
        }
        if volume.get("hostPath").is_some() {
            fill(volume, &["hostPath", "type"], json!(""));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::kinds::by_name;
    use super::*;

    #[test]
    fn existing_values_are_kept() {
        let mut object = json!({"a": {"b": 1}});
        fill(&mut object, &["a", "b"], json!(2));
        fill(&mut object, &["a", "c", "d"], json!(3));
        assert_eq!(object, json!({"a": {"b": 1, "c": {"d": 3}}}));
        put(&mut object, &["a", "b"], json!(4));
        assert_eq!(object["a"]["b"], 4);
    }

    #[test]
    fn string_data_of_a_secret_is_encoded() {
        let mut object = json!({"stringData": {"a": "b"}, "data": {"c": "ZA=="}});
        set(by_name("Secret").unwrap(), &mut object);
        let expected = json!({"data": {"a": "Yg==", "c": "ZA=="}, "type": "Opaque"});
        assert_eq!(object, expected);
    }
}
