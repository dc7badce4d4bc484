//! `components: host-process`: the node programs of Windows hosts as HostProcess containers.
//!
//! casement owns the objects; the kubelet and containerd stay services of the host. The
//! images of kube-proxy and Calico are published for this; flannel's is not, so it runs only
//! if `images.overrides` names one.

pub(crate) mod calico;
pub(crate) mod flannel;
mod kube_proxy;

use casement_spec::{Cluster, WindowsComponents};
use serde_json::{Value, json};

use crate::facts::ClusterFacts;
use crate::modes;

const OWNED: (&str, &str) = ("app.kubernetes.io/managed-by", "casement");

const CALICO: &str = "v3.32.1";

/// In the order of creation; empty without `components: host-process`.
pub fn host_process(cluster: &Cluster, facts: &ClusterFacts) -> Vec<Value> {
    if cluster.spec.windows.components != WindowsComponents::HostProcess {
        return Vec::new();
    }
    let server = Server::of(facts);
    let mut objects = modes::of(cluster).host_process_objects(cluster, &server);
    objects.push(kube_proxy::daemon_set(cluster, &server));
    objects
}

/// The API server's real address: its Service address does not work before kube-proxy runs.
pub(crate) struct Server {
    host: String,
    port: String,
}

impl Server {
    fn of(facts: &ClusterFacts) -> Self {
        let (host, port) = facts
            .api_server
            .rsplit_once(':')
            .unwrap_or((&facts.api_server, "6443"));
        Self {
            host: host.to_owned(),
            port: port.to_owned(),
        }
    }

    fn environment(&self) -> [Value; 2] {
        [
            json!({"name": "KUBERNETES_SERVICE_HOST", "value": self.host}),
            json!({"name": "KUBERNETES_SERVICE_PORT", "value": self.port}),
        ]
    }
}

fn image(cluster: &Cluster, name: &str, tag: &str) -> String {
    match cluster.spec.images.override_for(name) {
        Some(image) => image.to_string(),
        None => format!("{name}:{tag}"),
    }
}

/// A field of the pod as a variable of its containers.
fn from_pod(name: &str, field: &str) -> Value {
    json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": field}}})
}

fn host_path(name: &str, path: &str) -> Value {
    json!({
        "name": name,
        "hostPath": {"path": path, "type": "DirectoryOrCreate"},
    })
}

/// Runs as SYSTEM in the host's network and tolerates every taint, since nothing works on
/// the node before it runs.
fn daemon_set(namespace: &str, name: &str, account: &str, mut pod: Value) -> Value {
    let (key, value) = OWNED;
    let labels = json!({"k8s-app": name});
    let base = json!({
        "os": {"name": "windows"},
        "nodeSelector": {"kubernetes.io/os": "windows"},
        "hostNetwork": true,
        "priorityClassName": "system-node-critical",
        "serviceAccountName": account,
        "securityContext": {"windowsOptions": {
            "hostProcess": true, "runAsUserName": "NT AUTHORITY\\system",
        }},
        "tolerations": [
            {"key": "CriticalAddonsOnly", "operator": "Exists"},
            {"operator": "Exists", "effect": "NoSchedule"},
            {"operator": "Exists", "effect": "NoExecute"},
        ],
    });
    if let (Some(pod), Value::Object(base)) = (pod.as_object_mut(), base) {
        pod.extend(base);
    }
    json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": namespace, "labels": {key: value, "k8s-app": name}},
        "spec": {
            "selector": {"matchLabels": labels},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    })
}

fn config_map(namespace: &str, name: &str, data: Value) -> Value {
    let (key, value) = OWNED;
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, "labels": {key: value}},
        "data": data,
    })
}

#[cfg(test)]
mod tests;
