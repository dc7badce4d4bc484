//! kube-proxy on Windows nodes; shares the service account and the kubeconfig of kubeadm's
//! DaemonSet for Linux.

use casement_spec::Cluster;
use casement_spec::host_process::KUBE_PROXY_IMAGE;
use serde_json::{Value, json};

use super::{Server, from_pod, image};
use crate::modes;

const START: &str = "$env:CONTAINER_SANDBOX_MOUNT_POINT/kube-proxy/start.ps1";
const FOLDER: &str = "$env:CONTAINER_SANDBOX_MOUNT_POINT/kube-proxy/";

pub(super) fn daemon_set(cluster: &Cluster, server: &Server) -> Value {
    let flavor = modes::of(cluster).kube_proxy_flavor();
    let tag = format!("v{}-{flavor}-hostprocess", cluster.spec.kubernetes.version);
    let mut environment = vec![
        from_pod("NODENAME", "spec.nodeName"),
        from_pod("POD_IP", "status.podIP"),
        json!({"name": "KUBE_NETWORK", "value": cluster.spec.network.hns_network.as_str()}),
    ];
    environment.extend(server.environment());
    let container = json!({
        "name": "kube-proxy",
        "image": image(cluster, KUBE_PROXY_IMAGE, &tag),
        "args": [START],
        "workingDir": FOLDER,
        "env": environment,
        "resources": {"requests": {"cpu": "100m", "memory": "100Mi"}},
        "volumeMounts": [{"name": "kube-proxy", "mountPath": "/var/lib/kube-proxy"}],
    });
    let pod = json!({
        "containers": [container],
        "volumes": [{"name": "kube-proxy", "configMap": {"name": "kube-proxy"}}],
    });
    super::daemon_set("kube-system", "kube-proxy-windows", "kube-proxy", pod)
}
