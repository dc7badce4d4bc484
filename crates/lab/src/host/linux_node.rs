//! Keeps a Node for the Linux host Ready, so that there is somebody to route to.
//!
//! It is labelled as the lab's and tainted: no kubelet stands behind it, and no
//! pod is to wait for one there.

use std::process::Command;
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::command;
use crate::host::furnish::inside;
use crate::problem::Result;
use crate::wait;

/// Marks everything that is the lab's and nobody's example.
const MARK: &str = "casement.dev/lab";
/// Well below the control plane's patience of 20 s.
const BEAT: Duration = Duration::from_secs(5);

/// Makes the Node and renews its lease until the host is off.
pub fn run(name: &str, address: &str) -> Result<()> {
    apply(&node(name))?;
    let status = status(address).to_string();
    #[rustfmt::skip]
    command::run(kubectl().args([
        "patch", "node", name, "--subresource=status", "--type=merge", "--patch", &status,
    ]))?;
    loop {
        // A control plane under load may miss one; the next comes soon.
        if let Err(problem) = apply(&lease(name)) {
            eprintln!("{problem}");
        }
        thread::sleep(BEAT);
    }
}

/// The pod network that the control plane gave to a node.
pub fn pod_cidr(kubectl: impl Fn() -> Command, node: &str) -> Option<String> {
    wait::until(Duration::from_secs(20), || {
        let mut ask = kubectl();
        ask.args(["get", "node", node, "--output=jsonpath={.spec.podCIDR}"]);
        command::output(&mut ask)
            .ok()
            .filter(|cidr| !cidr.is_empty())
    })
}

fn kubectl() -> Command {
    let program = format!("{}/linux/kubectl", inside::PARTS);
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
        .map_err(|error| command::not_started(&command, &error))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A kubectl that ended early says why in its own words below.
        let _ = stdin.write_all(object.to_string().as_bytes());
    }
    let ended = child
        .wait()
        .map_err(|error| command::not_started(&command, &error))?;
    if ended.success() {
        return Ok(());
    }
    Err(crate::problem::Problem::new(
        "CAS-LAB-041",
        format!("kubectl apply did not succeed ({ended})"),
        "see log/neighbour.log of the control plane",
    ))
}

fn node(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                MARK: "neighbour",
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
            },
        },
        "spec": {"taints": [{"key": MARK, "value": "no-kubelet", "effect": "NoSchedule"}]},
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
            "kubeletVersion": crate::control_plane::parts::KUBERNETES,
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
