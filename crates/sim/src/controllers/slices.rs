//! One EndpointSlice for each Service with a selector.

use serde_json::{Value, json};

use super::{is_ready, items, text};
use crate::programs::client::Client;

const SLICES: &str = "/apis/discovery.k8s.io/v1/endpointslices";

pub(super) async fn reconcile(admin: &Client, pods: &[Value]) -> Result<(), String> {
    let services = items(admin, "/api/v1/services").await?;
    let slices = items(admin, SLICES).await?;
    for service in &services {
        let selects = service["spec"]["selector"].as_object();
        if selects.is_none_or(|selector| selector.is_empty()) {
            continue;
        }
        let endpoints = endpoints(service, pods);
        let is_owned = |slice: &&Value| {
            let owners = slice["metadata"]["ownerReferences"].as_array();
            let owner = &service["metadata"]["uid"];
            owners.is_some_and(|owners| owners.iter().any(|it| it["uid"] == *owner))
        };
        let namespace = text(service, "/metadata/namespace");
        let path = format!("/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices");
        match slices.iter().find(is_owned) {
            Some(slice) if slice["endpoints"] == endpoints => {}
            Some(slice) => {
                let path = format!("{path}/{}", text(slice, "/metadata/name"));
                let patch = json!({ "endpoints": endpoints });
                admin.send("PATCH", &path, &patch).await?;
            }
            None => {
                let slice = slice(service, &endpoints);
                admin.send("POST", &path, &slice).await?;
            }
        }
    }
    Ok(())
}

/// The selected pods that have an address.
fn endpoints(service: &Value, pods: &[Value]) -> Value {
    let namespace = &service["metadata"]["namespace"];
    let selector = service["spec"]["selector"].as_object();
    let selected = pods.iter().filter(|pod| {
        let labels = &pod["metadata"]["labels"];
        let mut selector = selector.into_iter().flatten();
        pod["metadata"]["namespace"] == *namespace
            && selector.all(|(key, value)| labels[key] == *value)
    });
    let alive = selected.filter(|pod| pod["metadata"]["deletionTimestamp"].is_null());
    let endpoints = alive.filter_map(|pod| {
        let address = pod["status"]["podIP"].as_str()?;
        let (ready, meta) = (is_ready(pod), &pod["metadata"]);
        Some(json!({
            "addresses": [address],
            "conditions": {"ready": ready, "serving": ready, "terminating": false},
            "nodeName": pod["spec"]["nodeName"],
            "targetRef": {
                "kind": "Pod", "name": meta["name"], "namespace": meta["namespace"],
                "uid": meta["uid"],
            },
        }))
    });
    endpoints.collect()
}

fn slice(service: &Value, endpoints: &Value) -> Value {
    let meta = &service["metadata"];
    let name = text(service, "/metadata/name");
    let ports = service["spec"]["ports"].as_array().into_iter().flatten();
    let ports = ports.map(|port| {
        let target = match port["targetPort"].is_u64() {
            true => &port["targetPort"],
            false => &port["port"],
        };
        let name = port["name"].as_str().unwrap_or_default();
        json!({"name": name, "port": target, "protocol": port["protocol"]})
    });
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {
            "generateName": format!("{name}-"), "namespace": meta["namespace"],
            "labels": {
                "kubernetes.io/service-name": name,
                "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
            },
            "ownerReferences": [{
                "apiVersion": "v1", "kind": "Service", "name": name, "uid": meta["uid"],
                "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "addressType": "IPv4", "ports": ports.collect::<Vec<_>>(), "endpoints": endpoints,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(labels: Value, address: Option<&str>, ready: bool) -> Value {
        let status = if ready { "True" } else { "False" };
        json!({
            "metadata": {"name": "p", "namespace": "default", "labels": labels},
            "spec": {"nodeName": "win1"},
            "status": {
                "podIP": address, "conditions": [{"type": "Ready", "status": status}],
            },
        })
    }

    #[test]
    fn endpoints_are_the_pods_that_match_all_labels() {
        let service = json!({
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"selector": {"app": "web", "os": "windows"}},
        });
        let own = json!({"app": "web", "os": "windows", "more": "x"});
        let pods = [
            pod(own.clone(), Some("10.244.3.3"), true),
            pod(own.clone(), Some("10.244.3.4"), false),
            pod(own, None, false),
            pod(json!({"app": "web"}), Some("10.244.3.5"), true),
        ];
        let found = endpoints(&service, &pods);
        let [first, second] = found.as_array().unwrap().as_slice() else {
            panic!("{found:#}");
        };
        assert_eq!(first["addresses"][0], "10.244.3.3");
        assert_eq!(first["conditions"]["ready"], true);
        assert_eq!(second["conditions"]["ready"], false);
    }
}
