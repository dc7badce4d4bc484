//! flannel on Windows nodes, from an image of the user's, with flannel's own configuration
//! and a conflist for Windows.

use casement_net::Deferred;
use casement_resource::host_paths::{WINDOWS_CNI_CONFIGURATION, WINDOWS_CNI_PROGRAMS};
use casement_spec::Cluster;
use casement_spec::host_process::FLANNEL_IMAGE;
use serde_json::{Value, json};

use super::{Server, config_map, from_pod, image};
use crate::facts::ClusterFacts;
use crate::pods;
use crate::release::Release;

/// The namespace of flannel's own manifest.
const NAMESPACE: &str = "kube-flannel";
const MAP: &str = "kube-flannel-windows-cfg";
const START: &str = "$env:CONTAINER_SANDBOX_MOUNT_POINT/flannel/start.ps1";
const FOLDER: &str = "$env:CONTAINER_SANDBOX_MOUNT_POINT/flannel/";

pub(crate) fn objects(cluster: &Cluster, server: &Server) -> Vec<Value> {
    let mut objects: Vec<Value> = conflist(cluster)
        .map(|text| config_map(NAMESPACE, MAP, json!({"cni-conf-containerd.json": text})))
        .into_iter()
        .collect();
    objects.push(daemon_set(cluster, server));
    objects
}

/// The same on all Windows nodes: the plugin fills in the node's own network.
fn conflist(cluster: &Cluster) -> Option<String> {
    let host = cluster.windows_hosts().next()?;
    let release = Release::of(cluster).ok()?;
    let facts = ClusterFacts::of_spec(cluster);
    pods::conflist(cluster, host, release, Deferred::AfterJoin, &facts)
}

fn daemon_set(cluster: &Cluster, server: &Server) -> Value {
    let services = cluster.spec.kubernetes.service_cidr.net().to_string();
    let mut environment = vec![
        json!({"name": "CNI_BIN_PATH", "value": WINDOWS_CNI_PROGRAMS}),
        json!({"name": "CNI_CONFIG_PATH", "value": WINDOWS_CNI_CONFIGURATION}),
        json!({"name": "SERVICE_SUBNET", "value": services}),
        from_pod("POD_NAME", "metadata.name"),
        from_pod("POD_NAMESPACE", "metadata.namespace"),
    ];
    environment.extend(server.environment());
    let container = json!({
        "name": "kube-flannel",
        "image": image(cluster, FLANNEL_IMAGE, "latest"),
        "args": [START],
        "workingDir": FOLDER,
        "env": environment,
        "resources": {"requests": {"cpu": "100m", "memory": "100Mi"}},
        "volumeMounts": [
            {"name": "flannel-cfg", "mountPath": "/mounts/kube-flannel/"},
            {"name": "flannel-windows-cfg", "mountPath": "/mounts/kube-flannel-windows/"},
        ],
    });
    let pod = json!({
        "containers": [container],
        "volumes": [
            {"name": "flannel-cfg", "configMap": {"name": "kube-flannel-cfg"}},
            {"name": "flannel-windows-cfg", "configMap": {"name": MAP}},
        ],
    });
    super::daemon_set(NAMESPACE, "kube-flannel-ds-windows-amd64", "flannel", pod)
}
