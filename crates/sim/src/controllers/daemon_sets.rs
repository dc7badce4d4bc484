//! Pods of DaemonSets: one on each node that fits, whatever state the node is in.

use serde_json::{Value, json};

use super::{is_ready, text, tolerates};
use crate::programs::client::Client;

/// Makes a DaemonSet have a pod on each node that is its own to run on.
pub(super) async fn keep(
    admin: &Client,
    set: &Value,
    nodes: &[Value],
    pods: &[Value],
) -> Result<(), String> {
    let (space, uid) = (text(set, "/metadata/namespace"), &set["metadata"]["uid"]);
    let own = |pod: &&Value| {
        let owners = pod["metadata"]["ownerReferences"].as_array();
        owners.is_some_and(|owners| owners.iter().any(|it| it["uid"] == *uid))
    };
    let own: Vec<&Value> = pods.iter().filter(own).collect();
    let path = format!("/api/v1/namespaces/{space}/pods");
    let (mut wanted, mut ready) = (0, 0);
    for node in nodes {
        let name = text(node, "/metadata/name");
        let on_it = own.iter().find(|it| text(it, "/spec/nodeName") == name);
        match (fits(set, node), on_it) {
            (true, None) => {
                admin.send("POST", &path, &pod_of(set, name)).await?;
            }
            (false, Some(pod)) if pod["metadata"]["deletionTimestamp"].is_null() => {
                let path = format!("{path}/{}", text(pod, "/metadata/name"));
                admin.ask("DELETE", &path, None).await?;
            }
            _ => {}
        }
        wanted += u32::from(fits(set, node));
        ready += u32::from(on_it.is_some_and(|pod| is_ready(pod)));
    }
    tell(admin, set, wanted, ready).await
}

async fn tell(admin: &Client, set: &Value, wanted: u32, ready: u32) -> Result<(), String> {
    let (status, generation) = (&set["status"], &set["metadata"]["generation"]);
    let same = status["desiredNumberScheduled"] == wanted
        && status["numberReady"] == ready
        && status["observedGeneration"] == *generation;
    if same {
        return Ok(());
    }
    let (space, name) = (
        text(set, "/metadata/namespace"),
        text(set, "/metadata/name"),
    );
    let path = format!("/apis/apps/v1/namespaces/{space}/daemonsets/{name}/status");
    let patch = json!({"status": {
        "observedGeneration": generation, "desiredNumberScheduled": wanted,
        "currentNumberScheduled": wanted, "updatedNumberScheduled": wanted,
        "numberMisscheduled": 0, "numberReady": ready, "numberAvailable": ready,
        "numberUnavailable": wanted.saturating_sub(ready),
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

/// Pods of DaemonSets go where others wait: to nodes that are not Ready, cordoned
/// or without a network.
fn fits(set: &Value, node: &Value) -> bool {
    let (template, labels) = (&set["spec"]["template"], &node["metadata"]["labels"]);
    let selector = template["spec"]["nodeSelector"].as_object();
    let mut selector = selector.into_iter().flatten();
    let selected = selector.all(|(key, value)| labels[key] == *value);
    let mut taints = node["spec"]["taints"].as_array().into_iter().flatten();
    let own = |taint: &Value| {
        let key = taint["key"].as_str().unwrap_or_default();
        key.starts_with("node.kubernetes.io/")
    };
    selected && drawn(template, labels) && taints.all(|it| own(it) || tolerates(template, it))
}

/// What `nodeAffinity` says, as far as the DaemonSets of these clusters use it.
fn drawn(template: &Value, labels: &Value) -> bool {
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
            let named = values.is_some_and(|values| values.contains(found));
            match it["operator"].as_str() {
                Some("In") => named,
                Some("NotIn") => !named,
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
    fn a_pod_goes_to_nodes_that_are_not_ready_and_not_past_a_taint() {
        let not_ready = json!([{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]);
        let windows = json!([{"key": "os", "value": "windows", "effect": "NoSchedule"}]);
        let plain = set(json!({}));
        assert!(fits(&plain, &node("linux", not_ready)));
        assert!(!fits(&plain, &node("windows", windows.clone())));
        let tolerant = set(json!({"tolerations": [{"operator": "Exists"}]}));
        assert!(fits(&tolerant, &node("windows", windows.clone())));
        let for_linux = set(json!({
            "tolerations": [{"operator": "Exists"}],
            "nodeSelector": {"kubernetes.io/os": "linux"},
        }));
        assert!(!fits(&for_linux, &node("windows", windows)));
    }

    #[test]
    fn an_affinity_for_linux_keeps_windows_out() {
        let expression = json!({"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]});
        let set = set(json!({"affinity": {"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [expression]}],
            },
        }}}));
        assert!(fits(&set, &node("linux", json!([]))));
        assert!(!fits(&set, &node("windows", json!([]))));
    }
}
