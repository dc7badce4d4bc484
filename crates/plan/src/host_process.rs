//! The programs of Windows nodes as HostProcess containers: `components: host-process`.
//!
//! The objects are casement's own; the kubelet, containerd and what they need stay
//! services of the host. kube-proxy's image and Calico's are published for this;
//! flannel's is not, so it runs only where `images.overrides` names one.

mod calico;
mod flannel;
mod kube_proxy;

use casement_spec::{Cluster, NetworkMode, WindowsComponents};
use serde_json::{Value, json};

use crate::facts::ClusterFacts;

/// What marks objects as casement's.
const OWNED: (&str, &str) = ("app.kubernetes.io/managed-by", "casement");

const CALICO: &str = "v3.32.1";

/// Every object, in the order in which they are made; none unless the file says so.
pub fn host_process(cluster: &Cluster, facts: &ClusterFacts) -> Vec<Value> {
    if cluster.spec.windows.components != WindowsComponents::HostProcess {
        return Vec::new();
    }
    let server = Server::of(facts);
    let mut objects = match cluster.spec.network.mode() {
        NetworkMode::FlannelOverlay | NetworkMode::FlannelHostGw => {
            flannel::objects(cluster, &server)
        }
        NetworkMode::CalicoVxlan => calico::objects(cluster, &server),
        NetworkMode::L3Routes => Vec::new(),
    };
    objects.push(kube_proxy::daemon_set(cluster, &server));
    objects
}

/// The API server as host processes reach it: before kube-proxy runs, the address of
/// its Service leads nowhere.
struct Server {
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
    match cluster.spec.images.instead_of(name) {
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

/// A DaemonSet of host processes on Windows nodes: SYSTEM, the host's network, and
/// every taint tolerated, since nothing works there before it runs.
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
