//! Nodes that are Ready at the start, with flannel's annotations.

use serde_json::{Value, json};

use super::{Flannel, Seed, SeedNode};
use crate::api_server::time;

pub(super) fn all(seed: &Seed) -> Vec<Value> {
    let length = seed.pod_network.prefix_len().max(24);
    let networks = seed.pod_network.subnets(length).into_iter().flatten();
    let nodes = seed.nodes.iter().enumerate().zip(networks);
    nodes
        .flat_map(|((number, node), network)| {
            let object = object(seed, node, number, &network.to_string());
            [object, lease(&node.name)]
        })
        .collect()
}

fn object(seed: &Seed, node: &SeedNode, number: usize, network: &str) -> Value {
    let name = &node.name;
    let mut labels = json!({
        "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "kubernetes.io/hostname": name,
    });
    let mut taints = Vec::new();
    if let (true, Some(labels)) = (node.control_plane, labels.as_object_mut()) {
        let role = "node-role.kubernetes.io/control-plane";
        labels.insert(role.to_owned(), json!(""));
        taints.push(json!({"key": role, "effect": "NoSchedule"}));
    }
    let annotations = match &seed.flannel {
        Some(flannel) => flannel_annotations(flannel, node, number),
        None => json!({}),
    };
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": annotations},
        "spec": {"podCIDR": network, "podCIDRs": [network], "taints": taints},
        "status": status(seed, node),
    })
}

fn flannel_annotations(flannel: &Flannel, node: &SeedNode, number: usize) -> Value {
    let number = u8::try_from(number).unwrap_or(u8::MAX);
    let backend = json!({"VNI": flannel.vni, "VtepMAC": format!("02:00:00:00:00:{number:02x}")});
    json!({
        "flannel.alpha.coreos.com/backend-type": "vxlan",
        "flannel.alpha.coreos.com/backend-data": backend.to_string(),
        "flannel.alpha.coreos.com/kube-subnet-manager": "true",
        "flannel.alpha.coreos.com/public-ip": node.address.to_string(),
    })
}

fn status(seed: &Seed, node: &SeedNode) -> Value {
    let now = time::now();
    let condition = |kind: &str, yes: bool, reason: &str| {
        json!({
            "type": kind, "status": if yes { "True" } else { "False" }, "reason": reason,
            "message": "set by the embedded API server",
            "lastHeartbeatTime": now, "lastTransitionTime": now,
        })
    };
    let resources = json!({"cpu": "2", "memory": "4Gi", "pods": "110"});
    json!({
        "addresses": [
            {"type": "InternalIP", "address": node.address.to_string()},
            {"type": "Hostname", "address": node.name},
        ],
        "capacity": resources, "allocatable": resources,
        "conditions": [
            condition("MemoryPressure", false, "KubeletHasSufficientMemory"),
            condition("DiskPressure", false, "KubeletHasNoDiskPressure"),
            condition("PIDPressure", false, "KubeletHasSufficientPID"),
            condition("Ready", true, "KubeletReady"),
        ],
        "nodeInfo": {
            "operatingSystem": "linux", "architecture": "amd64",
            "osImage": "Debian GNU/Linux 12 (bookworm)", "kernelVersion": "6.1.0-30-amd64",
            "containerRuntimeVersion": "containerd://2.1.4", "kubeletVersion": seed.kubernetes,
            "kubeProxyVersion": "", "machineID": "", "systemUUID": "", "bootID": "",
        },
    })
}

fn lease(name: &str) -> Value {
    let now = time::now_with_micros();
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": name, "namespace": "kube-node-lease"},
        "spec": {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": now},
    })
}
