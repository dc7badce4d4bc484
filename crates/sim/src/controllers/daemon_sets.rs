//! Pods of DaemonSets: one on each eligible node, ready or not.

use serde_json::{Value, json};

use super::{is_ready, text, tolerates};
use crate::programs::client::Client;

pub(super) async fn reconcile(
    admin: &Client,
    set: &Value,
    nodes: &[Value],
    pods: &[Value],
) -> Result<(), String> {
    let (namespace, uid) = (text(set, "/metadata/namespace"), &set["metadata"]["uid"]);
    let own = |pod: &&Value| {
        let owners = pod["metadata"]["ownerReferences"].as_array();
        owners.is_some_and(|owners| owners.iter().any(|it| it["uid"] == *uid))
    };
    let own: Vec<&Value> = pods.iter().filter(own).collect();
    let path = format!("/api/v1/namespaces/{namespace}/pods");
    let (mut desired, mut ready) = (0, 0);
    for node in nodes {
        let name = text(node, "/metadata/name");
        let existing = own.iter().find(|it| text(it, "/spec/nodeName") == name);
        match (is_eligible(set, node), existing) {
            (true, None) => {
                admin.send("POST", &path, &pod_of(set, name)).await?;
            }
            (false, Some(pod)) if pod["metadata"]["deletionTimestamp"].is_null() => {
                let path = format!("{path}/{}", text(pod, "/metadata/name"));
                admin.request("DELETE", &path, None).await?;
            }
            _ => {}
        }
        desired += u32::from(is_eligible(set, node));
        ready += u32::from(existing.is_some_and(|pod| is_ready(pod)));
    }
    update_status(admin, set, desired, ready).await
}

async fn update_status(
    admin: &Client,
    set: &Value,
    desired: u32,
    ready: u32,
) -> Result<(), String> {
    let (status, generation) = (&set["status"], &set["metadata"]["generation"]);
    let same = status["desiredNumberScheduled"] == desired
        && status["numberReady"] == ready
        && status["observedGeneration"] == *generation;
    if same {
        return Ok(());
    }
    let (namespace, name) = (
        text(set, "/metadata/namespace"),
        text(set, "/metadata/name"),
    );
    let path = format!("/apis/apps/v1/namespaces/{namespace}/daemonsets/{name}/status");
    let patch = json!({"status": {
        "observedGeneration": generation, "desiredNumberScheduled": desired,
        "currentNumberScheduled": desired, "updatedNumberScheduled": desired,
        "numberMisscheduled": 0, "numberReady": ready, "numberAvailable": ready,
        "numberUnavailable": desired.saturating_sub(ready),
    }});
    admin.send("PATCH", &path, &patch).await.map(drop)
}

fn pod_of(set: &Value, node: &str) -> Value {
    let (template, meta) = (&set["spec"]["template"], &set["metadata"]);
    let mut spec = template["spec"].clone();
    spec["nodeName"] = json!(node);
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "generateName": format!("{}-", text(set, "/metadata/name")),
            "namespace": meta["namespace"], "labels": template["metadata"]["labels"],
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "DaemonSet", "name": meta["name"],
                "uid": meta["uid"], "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": spec,
    })
}

/// DaemonSet pods also run on nodes that are NotReady, cordoned or without a network.
fn is_eligible(set: &Value, node: &Value) -> bool {
    let (template, labels) = (&set["spec"]["template"], &node["metadata"]["labels"]);
    let selector = template["spec"]["nodeSelector"].as_object();
    let mut selector = selector.into_iter().flatten();
    let selected = selector.all(|(key, value)| labels[key] == *value);
    let mut taints = node["spec"]["taints"].as_array().into_iter().flatten();
    let is_node_condition = |taint: &Value| {
        let key = taint["key"].as_str().unwrap_or_default();
        key.starts_with("node.kubernetes.io/")
    };
    selected
        && matches_affinity(template, labels)
        && taints.all(|it| is_node_condition(it) || tolerates(template, it))
}

/// Evaluates the part of `nodeAffinity` that the DaemonSets of these clusters use.
fn matches_affinity(template: &Value, labels: &Value) -> bool {
    let terms = template.pointer(
        "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution\
         /nodeSelectorTerms",
    );
    let Some(terms) = terms.and_then(Value::as_array) else {
        return true;
    };
    terms.iter().any(|term| {
        let mut all = term["matchExpressions"].as_array().into_iter().flatten();
        all.all(|it| {
            let found = &labels[it["key"].as_str().unwrap_or_default()];
            let values = it["values"].as_array();
            let listed = values.is_some_and(|values| values.contains(found));
            match it["operator"].as_str() {
                Some("In") => listed,
                Some("NotIn") => !listed,
                Some("Exists") => !found.is_null(),
                Some("DoesNotExist") => found.is_null(),
                _ => false,
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(os: &str, taints: Value) -> Value {
        json!({
            "metadata": {"labels": {"kubernetes.io/os": os}},
            "spec": {"taints": taints},
        })
    }

    fn set(pod: Value) -> Value {
        json!({"spec": {"template": {"spec": pod}}})
    }

    #[test]
    fn pod_runs_on_not_ready_nodes_but_respects_taints() {
        let not_ready = json!([{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]);
        let windows = json!([{"key": "os", "value": "windows", "effect": "NoSchedule"}]);
        let plain = set(json!({}));
        assert!(is_eligible(&plain, &node("linux", not_ready)));
        assert!(!is_eligible(&plain, &node("windows", windows.clone())));
        let tolerant = set(json!({"tolerations": [{"operator": "Exists"}]}));
        assert!(is_eligible(&tolerant, &node("windows", windows.clone())));
        let for_linux = set(json!({
            "tolerations": [{"operator": "Exists"}],
            "nodeSelector": {"kubernetes.io/os": "linux"},
        }));
        assert!(!is_eligible(&for_linux, &node("windows", windows)));
    }

    #[test]
    fn linux_affinity_excludes_windows_nodes() {
        let expression = json!({"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]});
        let set = set(json!({"affinity": {"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [expression]}],
            },
        }}}));
        assert!(is_eligible(&set, &node("linux", json!([]))));
        assert!(!is_eligible(&set, &node("windows", json!([]))));
    }
}
