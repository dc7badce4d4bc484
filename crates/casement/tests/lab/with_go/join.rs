//! Two Windows hosts join a real cluster over SSH and SFTP only, run a pod and survive a
//! reboot.

use std::thread;

use serde_json::Value;

use super::node::{Node, join_data};
use super::pod::{SERVICE, apply, assert_no_pod_endpoints, get, pod, running_pod};
use crate::lab_fixture::{Lab, SystemState, assert_cleaned_up, eventually, exclusive};

#[test]
#[ignore = "needs root, wine and go"]
fn manually_joined_hosts_are_ready_run_a_pod_and_survive_a_reboot() {
    let _exclusive = exclusive();
    let before = SystemState::now();
    let lab = Lab::named("join");
    lab.run(&["up", "--hosts", "2"]);
    let nodes = [Node::new(&lab, "win1"), Node::new(&lab, "win2")];
    let (token, hash) = join_data(&lab);
    thread::scope(|scope| {
        for node in &nodes {
            scope.spawn(|| node.join(&token, &hash));
        }
    });

    assert_ready_windows_nodes(&lab);
    assert_pod_runs_and_is_reachable(&lab, &nodes);
    assert_kube_proxy_creates_load_balancers(&lab, &nodes);
    assert_pod_reads_its_service_account_token(&lab);
    assert_deleted_pod_leaves_no_endpoint(&lab, &nodes);
    assert_node_survives_a_reboot(&lab, "win2");

    lab.run(&["down"]);
    assert_cleaned_up(&before, lab.state());
}

fn ready(node: &Value) -> Value {
    let conditions = node["status"]["conditions"].as_array().unwrap();
    let found = conditions
        .iter()
        .find(|condition| condition["type"] == "Ready");
    found.cloned().unwrap_or_default()
}

fn assert_ready_windows_nodes(lab: &Lab) {
    for name in ["win1", "win2"] {
        let node = eventually("the Node is Ready", 60, || {
            let node = get(lab, &["node", name]);
            (ready(&node)["status"] == "True").then_some(node)
        });
        let info = &node["status"]["nodeInfo"];
        assert_eq!(info["osImage"], "Windows Server 2022 Datacenter");
        assert_eq!(info["containerRuntimeVersion"], "containerd://2.4.2");
        assert_eq!(info["kubeletVersion"], "v1.36.3");
        assert_eq!(info["kernelVersion"], "10.0.20348.3807");
        assert_eq!(node["spec"]["taints"][0]["key"], "os");
    }
    println!("{}", lab.kubectl(&["get", "nodes", "--output=wide"]));
}

fn assert_pod_runs_and_is_reachable(lab: &Lab, nodes: &[Node<'_>]) {
    let registry = lab.address("control-plane");
    apply(lab, &(pod("web", &registry, false) + SERVICE));
    let pod = running_pod(lab, "web");
    let address = pod["status"]["podIP"].as_str().unwrap();
    let node = nodes
        .iter()
        .find(|node| pod["spec"]["nodeName"] == node.name)
        .unwrap();
    let network = node.pod_network();
    let base = network.strip_suffix("0/24").unwrap();
    assert!(address.starts_with(base), "{address} is not in {network}");

    assert!(lab.kubectl(&["logs", "web"]).contains("listens on port 80"));
    let printed = lab.kubectl(&["exec", "web", "--", "cmd", "/c", "echo in the pod & ver"]);
    assert!(
        printed.contains("in the pod") && printed.contains("20348"),
        "{printed}"
    );
    let failed = lab
        .command(&[
            "exec",
            "control-plane",
            "--",
            "kubectl",
            "exec",
            "web",
            "--",
            "cmd",
            "/c",
            "exit 3",
        ])
        .output()
        .unwrap();
    assert_eq!(failed.status.code(), Some(3));

    // Real packets from the Linux host's namespace to a Windows program.
    lab.run(&[
        "exec",
        "lin1",
        "--",
        "ip",
        "route",
        "replace",
        &network,
        "via",
        &node.address,
    ]);
    let url = format!("http://{address}/");
    let page = lab.run(&["exec", "lin1", "--", "curl", "-sS", "--max-time", "5", &url]);
    assert!(page.contains("answers"), "{page}");
    assert!(lab.kubectl(&["logs", "web"]).contains("GET / "));
}

/// The kubelet swaps directory links atomically here, which plain Wine does not support.
fn assert_pod_reads_its_service_account_token(lab: &Lab) {
    apply(lab, &pod("token", &lab.address("control-plane"), true));
    running_pod(lab, "token");
    let line = r"type C:\var\run\secrets\kubernetes.io\serviceaccount\namespace";
    let printed = lab.kubectl(&["exec", "token", "--", "cmd", "/c", line]);
    assert!(printed.contains("default"), "{printed}");
    lab.kubectl(&["delete", "pod", "token", "--timeout=60s"]);
}

fn assert_kube_proxy_creates_load_balancers(lab: &Lab, nodes: &[Node<'_>]) {
    let service = get(lab, &["service", "web"]);
    let web = format!("{}:80", service["spec"]["clusterIP"].as_str().unwrap());
    for node in nodes {
        eventually("kube-proxy has created its load balancers", 60, || {
            let found = node.load_balancers();
            let both = found.contains(&web) && found.contains(&"10.96.0.1:443".to_owned());
            both.then_some(())
        });
    }
}

fn assert_deleted_pod_leaves_no_endpoint(lab: &Lab, nodes: &[Node<'_>]) {
    lab.kubectl(&["delete", "pod,service", "web", "--timeout=60s"]);
    for node in nodes {
        assert_no_pod_endpoints(lab, node.name);
    }
}

fn assert_node_survives_a_reboot(lab: &Lab, name: &str) {
    let before = get(lab, &["node", name]);
    let since = |node: &Value| ready(node)["lastTransitionTime"].clone();
    lab.run(&["reboot", name]);
    eventually("the Node was NotReady and is Ready again", 90, || {
        let node = get(lab, &["node", name]);
        let back = ready(&node)["status"] == "True" && since(&node) != since(&before);
        back.then_some(())
    });
    let after = get(lab, &["node", name]);
    assert_ne!(
        after["status"]["nodeInfo"]["bootID"],
        before["status"]["nodeInfo"]["bootID"]
    );
    // A network without the non-persistent flag survives a reboot.
    assert!(
        lab.cmd(name, r"C:\lab\hnscall.exe GET /networks/")
            .contains("cbr0")
    );
}
