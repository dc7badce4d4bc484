//! Controllers of a control plane, as far as the demo shows them: pods for Deployments
//! and DaemonSets, scheduling, EndpointSlices, and Nodes whose kubelet is silent.
//!
//! Deployments own their pods directly, without ReplicaSets or rolling updates:
//! `docs/lab.md` lists what is missing.

mod daemon_sets;
mod linux_flannel;
mod slices;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::api_server::{now, seconds_since};
use crate::programs::client::Client;
use crate::programs::pace::Pace;
use crate::programs::pods;

const INTERVAL: Duration = Duration::from_millis(200);
const NOT_READY: &str = "node.kubernetes.io/not-ready";

pub(crate) async fn run(admin: Client, pace: Pace) {
    loop {
        // A conflicting change is resolved in the next round.
        let _ = reconcile(&admin).await;
        tokio::time::sleep(pace.scale(INTERVAL)).await;
    }
}

async fn reconcile(admin: &Client) -> Result<(), String> {
    let nodes = items(admin, "/api/v1/nodes").await?;
    let leases = items(admin, "/apis/coordination.k8s.io/v1/leases").await?;
    for node in &nodes {
        update_node(admin, node, &leases).await?;
    }
    let deployments = items(admin, "/apis/apps/v1/deployments").await?;
    let pods = items(admin, "/api/v1/pods").await?;
    for deployment in &deployments {
        sync_deployment(admin, deployment, &pods).await?;
    }
    for set in &items(admin, "/apis/apps/v1/daemonsets").await? {
        daemon_sets::reconcile(admin, set, &nodes, &pods).await?;
    }
    for pod in &pods {
        schedule(admin, pod, &nodes, &pods).await?;
    }
    slices::reconcile(admin, &pods).await
}

async fn items(admin: &Client, path: &str) -> Result<Vec<Value>, String> {
    let list = admin.get(path).await?;
    Ok(list["items"].as_array().cloned().unwrap_or_default())
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    let found = object.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_default()
}

fn ready_condition(object: &Value) -> Option<&Value> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions.iter().find(|it| it["type"] == "Ready")
}

fn is_ready(object: &Value) -> bool {
    ready_condition(object).is_some_and(|condition| condition["status"] == "True")
}

/// Removes the not-ready taint once a node is Ready, and sets Ready to Unknown when its
/// lease has expired.
async fn update_node(admin: &Client, node: &Value, leases: &[Value]) -> Result<(), String> {
    let name = text(node, "/metadata/name");
    let path = format!("/api/v1/nodes/{name}");
    let taints = node["spec"]["taints"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let not_ready = |taint: &Value| taint["key"] == NOT_READY;
    if is_ready(node) && taints.iter().any(not_ready) {
        let remaining: Vec<Value> = taints.into_iter().filter(|it| !not_ready(it)).collect();
        let patch = json!({"spec": {"taints": remaining}});
        admin.send("PATCH", &path, &patch).await?;
    }
    let lease = leases.iter().find(|it| text(it, "/metadata/name") == name);
    let seconds = lease.and_then(|it| it["spec"]["leaseDurationSeconds"].as_i64());
    let renewed = lease.and_then(|it| seconds_since(text(it, "/spec/renewTime")));
    let (Some(seconds), Some(renewed)) = (seconds, renewed) else {
        return Ok(());
    };
    // Seeded nodes, whose lease lasts 40 s, have no simulated kubelet and are always healthy.
    let silent = seconds < 40 && renewed > seconds;
    if silent && ready_condition(node).is_some_and(|it| it["status"] != "Unknown") {
        let condition = json!({
            "type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown",
            "message": "Kubelet stopped posting node status.",
            "lastHeartbeatTime": now(), "lastTransitionTime": now(),
        });
        let patch = json!({"status": {"conditions": [condition]}});
        admin
            .strategic_patch(&format!("{path}/status"), &patch)
            .await?;
    }
    Ok(())
}

async fn sync_deployment(admin: &Client, deployment: &Value, pods: &[Value]) -> Result<(), String> {
    let uid = &deployment["metadata"]["uid"];
    let own = |pod: &&Value| {
        let owners = pod["metadata"]["ownerReferences"].as_array();
        owners.is_some_and(|owners| owners.iter().any(|it| it["uid"] == *uid))
    };
    let own: Vec<&Value> = pods.iter().filter(own).collect();
    let desired = deployment["spec"]["replicas"].as_u64().unwrap_or(1);
    let desired = usize::try_from(desired).unwrap_or(usize::MAX);
    let namespace = text(deployment, "/metadata/namespace");
    let path = format!("/api/v1/namespaces/{namespace}/pods");
    for number in own.len()..desired {
        let pod = pod_of(deployment, number);
        admin.send("POST", &path, &pod).await?;
    }
    for pod in own.iter().skip(desired) {
        let path = format!("{path}/{}", text(pod, "/metadata/name"));
        admin.request("DELETE", &path, None).await?;
    }
    let ready = own.iter().filter(|pod| is_ready(pod)).count();
    let status = &deployment["status"];
    let generation = &deployment["metadata"]["generation"];
    let same = status["replicas"] == own.len()
        && status["readyReplicas"] == ready
        && status["observedGeneration"] == *generation;
    if same {
        return Ok(());
    }
    let patch = json!({"status": {
        "observedGeneration": generation, "replicas": own.len(), "updatedReplicas": own.len(),
        "readyReplicas": ready, "availableReplicas": ready,
        "unavailableReplicas": desired.saturating_sub(ready),
    }});
    let name = text(deployment, "/metadata/name");
    let path = format!("/apis/apps/v1/namespaces/{namespace}/deployments/{name}/status");
    admin.send("PATCH", &path, &patch).await?;
    Ok(())
}

fn pod_of(deployment: &Value, number: usize) -> Value {
    let template = &deployment["spec"]["template"];
    let (name, namespace) = (
        text(deployment, "/metadata/name"),
        text(deployment, "/metadata/namespace"),
    );
    let uid = text(deployment, "/metadata/uid");
    let part = uid.get(..5).unwrap_or("pod");
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": format!("{name}-{part}-{number}"), "namespace": namespace,
            "labels": template["metadata"]["labels"],
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": uid,
                "controller": true,
            }],
        },
        "spec": template["spec"],
    })
}

/// Assigns a pod to a node. A pod on Linux runs at once; others are run by their host.
async fn schedule(
    admin: &Client,
    pod: &Value,
    nodes: &[Value],
    pods: &[Value],
) -> Result<(), String> {
    let (namespace, name) = (
        text(pod, "/metadata/namespace"),
        text(pod, "/metadata/name"),
    );
    let path = format!("/api/v1/namespaces/{namespace}/pods/{name}");
    let node_name = text(pod, "/spec/nodeName");
    let Some(node) = nodes
        .iter()
        .find(|it| text(it, "/metadata/name") == node_name)
    else {
        let Some(node) = pick_node(pod, nodes, pods) else {
            return Ok(());
        };
        let patch = json!({"spec": {"nodeName": text(node, "/metadata/name")}});
        admin.send("PATCH", &path, &patch).await?;
        return Ok(());
    };
    if node["metadata"]["labels"]["kubernetes.io/os"] != "linux" {
        return Ok(());
    }
    if pod["metadata"]["deletionTimestamp"].is_string() {
        let now = json!({"gracePeriodSeconds": 0});
        admin.request("DELETE", &path, Some(&now)).await?;
        return Ok(());
    }
    if is_ready(pod) {
        return Ok(());
    }
    let number = pods
        .iter()
        .position(|it| it["metadata"]["uid"] == pod["metadata"]["uid"]);
    let network: Option<ipnet::Ipv4Net> = text(node, "/spec/podCIDR").parse().ok();
    let address = network.and_then(|it| it.hosts().nth(2 + number.unwrap_or(0)));
    let host = text(node, "/status/addresses/0/address");
    let address = match pod["spec"]["hostNetwork"] == true {
        true => host.parse().ok(),
        false => address,
    };
    if linux_flannel::is_flannel_pod(pod) {
        linux_flannel::publish_vni(admin, pod, node).await?;
    }
    let state = json!({"running": {"startedAt": now()}});
    let mut status = pods::pod_status(pod, host, address.map(Into::into), true, &state);
    status["startTime"] = json!(now());
    let patch = json!({ "status": status });
    let path = format!("{path}/status");
    admin.send("PATCH", &path, &patch).await?;
    Ok(())
}

/// The eligible node with the fewest pods.
fn pick_node<'a>(pod: &Value, nodes: &'a [Value], pods: &[Value]) -> Option<&'a Value> {
    let mut load: BTreeMap<&str, usize> = BTreeMap::new();
    for other in pods {
        *load.entry(text(other, "/spec/nodeName")).or_default() += 1;
    }
    let eligible = nodes.iter().filter(|node| is_eligible(pod, node));
    eligible.min_by_key(|node| load.get(text(node, "/metadata/name")).copied().unwrap_or(0))
}

fn is_eligible(pod: &Value, node: &Value) -> bool {
    let labels = &node["metadata"]["labels"];
    let selector = pod["spec"]["nodeSelector"].as_object();
    let selected = selector
        .into_iter()
        .flatten()
        .all(|(key, value)| labels[key] == *value);
    let taints = node["spec"]["taints"].as_array();
    let tolerated = taints.into_iter().flatten().all(|it| tolerates(pod, it));
    let schedulable = node["spec"]["unschedulable"] != true;
    selected && tolerated && schedulable && is_ready(node)
}

fn tolerates(pod: &Value, taint: &Value) -> bool {
    let tolerations = pod["spec"]["tolerations"].as_array();
    tolerations.into_iter().flatten().any(|it| {
        let all = it["operator"] == "Exists" && it["key"].is_null();
        let key = it["key"] == taint["key"];
        let value = it["operator"] == "Exists" || it["value"] == taint["value"];
        let effect = it["effect"].is_null() || it["effect"] == taint["effect"];
        (all || key && value) && effect
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows_node() -> Value {
        json!({
            "metadata": {"name": "win1", "labels": {"kubernetes.io/os": "windows"}},
            "spec": {"taints": [{"key": "os", "value": "windows", "effect": "NoSchedule"}]},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        })
    }

    #[test]
    fn pod_needs_matching_selector_toleration_and_schedulable_node() {
        let node = windows_node();
        let bare = json!({"spec": {"nodeSelector": {"kubernetes.io/os": "windows"}}});
        assert!(!is_eligible(&bare, &node), "the taint is not tolerated");
        let toleration = json!({"key": "os", "value": "windows", "effect": "NoSchedule"});
        let mut pod = bare.clone();
        pod["spec"]["tolerations"] = json!([toleration]);
        assert!(is_eligible(&pod, &node));
        let mut cordoned = node.clone();
        cordoned["spec"]["unschedulable"] = json!(true);
        assert!(!is_eligible(&pod, &cordoned));
        pod["spec"]["nodeSelector"] = json!({"kubernetes.io/os": "linux"});
        assert!(!is_eligible(&pod, &node));
    }

    #[test]
    fn node_with_fewest_pods_is_picked() {
        let mut other = windows_node();
        other["metadata"]["name"] = json!("win2");
        let nodes = [windows_node(), other];
        let pod = json!({"spec": {"tolerations": [{"operator": "Exists"}]}});
        let existing = [json!({"spec": {"nodeName": "win1"}})];
        let chosen = pick_node(&pod, &nodes, &existing).unwrap();
        assert_eq!(text(chosen, "/metadata/name"), "win2");
    }
}
