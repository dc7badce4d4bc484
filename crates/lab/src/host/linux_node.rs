//! Creates a Node for the Linux host and keeps it Ready, so that Windows nodes have
//! another node to route to.
//!
//! The host runs no kubelet, so the Node has a taint that keeps pods away.

use std::process::Command;
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::command;
use crate::host::rootfs::inside;
use crate::problem::Result;
use crate::wait;

/// Key of the label and the taint.
const LABEL: &str = "casement.dev/lab";
/// Well below the node monitor grace period of 20 s.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// Creates the Node and renews its Lease until the host is off.
pub fn run(name: &str, address: &str) -> Result<()> {
    apply(&node(name))?;
    let status = status(address).to_string();
    #[rustfmt::skip]
    command::run(kubectl().args([
        "patch", "node", name, "--subresource=status", "--type=merge", "--patch", &status,
    ]))?;
    loop {
        // Under load a renewal may fail; the next one follows soon.
        if let Err(problem) = apply(&lease(name)) {
            eprintln!("{problem}");
        }
        thread::sleep(HEARTBEAT);
    }
}

/// Waits for the pod network that the control plane assigns to a node.
pub fn pod_cidr(kubectl: impl Fn() -> Command, node: &str) -> Option<String> {
    wait::until(Duration::from_secs(20), || {
        let mut get = kubectl();
        get.args(["get", "node", node, "--output=jsonpath={.spec.podCIDR}"]);
        command::output(&mut get)
            .ok()
            .filter(|cidr| !cidr.is_empty())
    })
}

fn kubectl() -> Command {
    let program = format!("{}/linux/kubectl", inside::BINARIES);
    command::command(&program, ["--kubeconfig", "/etc/kubernetes/admin.conf"])
}

fn apply(object: &Value) -> Result<()> {
    use std::io::Write;
    use std::process::Stdio;
    let mut command = kubectl();
    command.args(["apply", "--server-side", "--field-manager=casement-lab"]);
    command.args(["--force-conflicts", "--filename=-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = command
        .spawn()
        .map_err(|error| command::spawn_problem(&command, &error))?;
    if let Some(mut stdin) = child.stdin.take() {
        // If kubectl ended early, its own error message is in the log.
        let _ = stdin.write_all(object.to_string().as_bytes());
    }
    let status = child
        .wait()
        .map_err(|error| command::spawn_problem(&command, &error))?;
    if status.success() {
        return Ok(());
    }
    Err(crate::problem::Problem::new(
        "CAS-LAB-041",
        format!("`kubectl apply` failed ({status})"),
        "see log/neighbour.log of host control-plane",
    ))
}

fn node(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                LABEL: "neighbour",
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
            },
        },
        "spec": {"taints": [{"key": LABEL, "value": "no-kubelet", "effect": "NoSchedule"}]},
    })
}

fn status(address: &str) -> Value {
    let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    json!({"status": {
        "addresses": [{"type": "InternalIP", "address": address}],
        "nodeInfo": {
            "operatingSystem": "linux",
            "architecture": "amd64",
            "osImage": "casement lab (no kubelet)",
            "kernelVersion": "",
            "containerRuntimeVersion": "",
            "kubeletVersion": crate::control_plane::binaries::KUBERNETES,
            "kubeProxyVersion": "",
            "machineID": "",
            "systemUUID": "",
            "bootID": "",
        },
        "conditions": [{
            "type": "Ready",
            "status": "True",
            "reason": "KeptByTheLab",
            "message": "casement lab keeps this node Ready",
            "lastHeartbeatTime": now,
            "lastTransitionTime": now,
        }],
    }})
}

fn lease(name: &str) -> Value {
    let now = Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%S%.6fZ")
        .to_string();
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": "kube-node-lease"},
        "spec": {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": now},
    })
}
