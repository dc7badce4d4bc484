//! Calico on Windows nodes, for clusters that run Calico from its manifests. Clusters with
//! Calico's operator configure it there.

use casement_resource::host_paths::{LINUX_CNI_CONFIGURATION, LINUX_CNI_PROGRAMS};
use casement_spec::Cluster;
use casement_spec::host_process::{CALICO_CNI_IMAGE, CALICO_NODE_IMAGE};
use serde_json::{Value, json};

use super::{CALICO, Server, config_map, from_pod, host_path, image};

/// The namespace of Calico's manifests.
const NAMESPACE: &str = "kube-system";
const NAME: &str = "calico-node-windows";
const ENDPOINT: &str = "kubernetes-services-endpoint";
const SANDBOX: &str = "$env:CONTAINER_SANDBOX_MOUNT_POINT";

pub(crate) fn objects(cluster: &Cluster, server: &Server) -> Vec<Value> {
    let endpoint = json!({
        "KUBERNETES_SERVICE_HOST": server.host,
        "KUBERNETES_SERVICE_PORT": server.port,
    });
    vec![
        config_map(NAMESPACE, ENDPOINT, endpoint),
        daemon_set(cluster, server),
    ]
}

fn daemon_set(cluster: &Cluster, server: &Server) -> Value {
    let vxlan = cluster.spec.network.backend.vxlan().unwrap_or_default();
    let common = environment(cluster, server, vxlan.vni.get());
    let node = image(cluster, CALICO_NODE_IMAGE, CALICO);
    let program = |name: &str, script: &str, more: Vec<Value>, probes: bool| {
        let mut container = json!({
            "name": name,
            "image": node,
            "args": [format!("{SANDBOX}/CalicoWindows/{script}")],
            "workingDir": format!("{SANDBOX}/CalicoWindows/"),
            "env": common.iter().cloned().chain(more).collect::<Vec<_>>(),
            "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
            "volumeMounts": mounts(),
        });
        if probes {
            container["livenessProbe"] = probe("-felix-live");
            container["readinessProbe"] = probe("-felix-ready");
        }
        container
    };
    let port = vec![
        json!({"name": "FELIX_VXLANPORT", "value": vxlan.port.to_string()}),
        json!({"name": "FELIX_VXLANVNI", "value": vxlan.vni.get().to_string()}),
        json!({"name": "FELIX_HEALTHENABLED", "value": "true"}),
    ];
    let manages = vec![json!({"name": "CALICO_MANAGE_CNI", "value": "true"})];
    let pod = json!({
        "terminationGracePeriodSeconds": 5,
        "initContainers": [
            program("uninstall-calico", "uninstall-calico-hpc.ps1", Vec::new(), false),
            install(cluster, &common),
        ],
        "containers": [
            program("felix", "felix-service.ps1", port, true),
            program("node", "node-service.ps1", manages, false),
        ],
        "volumes": [
            host_path("cni-bin-dir", LINUX_CNI_PROGRAMS),
            host_path("cni-net-dir", LINUX_CNI_CONFIGURATION),
            host_path("cni-log-dir", "/var/log/calico/cni"),
            host_path("var-lib-calico", "/var/lib/calico"),
            host_path("var-run-calico", "/var/run/calico"),
            host_path("policysync", "/var/run/nodeagent"),
        ],
    });
    super::daemon_set(NAMESPACE, NAME, "calico-node", pod)
}

fn install(cluster: &Cluster, common: &[Value]) -> Value {
    let kubernetes = &cluster.spec.kubernetes;
    let own = [
        ("SLEEP", "false".to_owned()),
        ("CNI_BIN_DIR", "/host/opt/cni/bin".to_owned()),
        ("CNI_NET_DIR", LINUX_CNI_CONFIGURATION.to_owned()),
        ("CNI_CONF_NAME", "10-calico.conflist".to_owned()),
        ("KUBERNETES_DNS_SERVERS", kubernetes.dns().to_string()),
    ];
    let own = own.map(|(name, value)| json!({"name": name, "value": value}));
    json!({
        "name": "install-cni",
        "image": image(cluster, CALICO_CNI_IMAGE, CALICO),
        "command": [format!("{SANDBOX}/opt/cni/bin/install.exe")],
        "env": common.iter().cloned().chain(own).collect::<Vec<_>>(),
        "volumeMounts": [
            {"name": "cni-bin-dir", "mountPath": "/host/opt/cni/bin"},
            {"name": "cni-net-dir", "mountPath": "/host/etc/cni/net.d"},
        ],
    })
}

fn environment(cluster: &Cluster, server: &Server, vni: u32) -> Vec<Value> {
    let network = &cluster.spec.network;
    let services = cluster.spec.kubernetes.service_cidr.net().to_string();
    let fixed = [
        ("CALICO_NETWORKING_BACKEND", "vxlan".to_owned()),
        ("CLUSTER_TYPE", "k8s,windows".to_owned()),
        ("DATASTORE_TYPE", "kubernetes".to_owned()),
        ("IP", "autodetect".to_owned()),
        ("IP6", "none".to_owned()),
        ("KUBE_NETWORK", format!("{}.*", network.hns_network)),
        ("KUBERNETES_SERVICE_CIDRS", services),
        ("VXLAN_VNI", vni.to_string()),
    ];
    let fixed = fixed.map(|(name, value)| json!({"name": name, "value": value}));
    let node = ["NODENAME", "KUBERNETES_NODE_NAME"].map(|name| from_pod(name, "spec.nodeName"));
    let pod = [
        from_pod("CALICO_POD_NAME", "metadata.name"),
        from_pod("NAMESPACE", "metadata.namespace"),
    ];
    let parts = node.into_iter().chain(pod).chain(fixed);
    parts.chain(server.environment()).collect()
}

fn mounts() -> Value {
    json!([
        {"name": "cni-net-dir", "mountPath": LINUX_CNI_CONFIGURATION},
        {"name": "cni-log-dir", "mountPath": "/var/log/calico/cni"},
        {"name": "var-lib-calico", "mountPath": "/var/lib/calico"},
        {"name": "var-run-calico", "mountPath": "/var/run/calico"},
        {"name": "policysync", "mountPath": "/var/run/nodeagent"},
    ])
}

fn probe(question: &str) -> Value {
    let program = format!("{SANDBOX}/CalicoWindows/calico-node.exe");
    json!({
        "exec": {"command": [program, question]},
        "initialDelaySeconds": 10,
        "periodSeconds": 10,
        "timeoutSeconds": 10,
        "failureThreshold": 6,
    })
}
