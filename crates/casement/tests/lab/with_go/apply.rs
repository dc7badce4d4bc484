//! `casement apply` on the file that the lab wrote: nodes, Ready, again nothing
//! to do, drift found and mended.

use std::process::Command;

use serde_json::Value;

use crate::machine::{Lab, alone, casement, eventually, succeed, text};

fn verb(lab: &Lab, words: &[&str]) -> Command {
    let mut command = casement();
    command
        .args(words)
        .arg("-f")
        .arg(lab.folder().join("cluster.yaml"));
    command
}

#[test]
#[ignore = "needs root, wine and go"]
fn apply_makes_windows_hosts_ready_nodes_and_mends_what_drifted() {
    let _alone = alone();
    let lab = Lab::named("apply");
    lab.run(&["up", "--hosts", "2"]);

    let planned = succeed(&mut verb(&lab, &["plan"]));
    assert!(
        planned.contains("service kubelet") && planned.contains("known after join"),
        "{planned}"
    );
    let done = succeed(&mut verb(&lab, &["apply", "--yes"]));
    assert!(done.contains("win1 and win2 are Ready"), "{done}");

    nodes_are_ready_and_tainted(&lab);
    the_network_is_the_one_that_the_control_plane_gave(&lab);
    no_token_is_left(&lab);

    let again = succeed(&mut verb(&lab, &["apply", "--yes"]));
    assert!(again.starts_with("Nothing to do"), "{again}");
    let reasons = succeed(&mut verb(&lab, &["plan", "-v"]));
    assert!(reasons.contains("0 to make or change"), "{reasons}");

    drift_is_found_and_mended(&lab);
}

fn nodes_are_ready_and_tainted(lab: &Lab) {
    for name in ["win1", "win2"] {
        let taint = serde_json::json!({"key": "os", "value": "windows", "effect": "NoSchedule"});
        // The control plane takes its own taints off a moment after Ready.
        let node = eventually("only our own taint is left, and no cordon", 20, || {
            let node = lab.kubectl(&["get", "node", name, "--output=json"]);
            let node: Value = serde_json::from_str(&node).unwrap();
            let taints = node["spec"]["taints"].as_array().cloned();
            (taints == Some(vec![taint.clone()])).then_some(node)
        });
        let info = &node["status"]["nodeInfo"];
        assert_eq!(info["containerRuntimeVersion"], "containerd://2.4.2");
        assert_eq!(info["kubeletVersion"], "v1.36.3");
        assert_eq!(info["osImage"], "Windows Server 2022 Datacenter");
    }
}

/// From the Linux host's namespace, over the routes that casement made.
fn the_network_is_the_one_that_the_control_plane_gave(lab: &Lab) {
    for name in ["win1", "win2"] {
        let path = "--output=jsonpath={.spec.podCIDR}";
        let network = lab.kubectl(&["get", "node", name, path]);
        let networks = lab.cmd(name, r"C:\lab\hnscall.exe GET /networks/");
        assert!(networks.contains(&network), "{network} in {networks}");
        let conflist = lab.cmd(name, r"type C:\etc\cni\net.d\10-casement.conflist");
        assert!(conflist.contains(&network), "{network} in {conflist}");
        let gateway = network.replace(".0/24", ".1");
        let ping = ["exec", "lin1", "--", "ping", "-c", "1", "-W", "2", &gateway];
        let said = lab.run(&ping);
        assert!(said.contains("1 received"), "{said}");
    }
}

fn no_token_is_left(lab: &Lab) {
    let tokens = "--field-selector=type=bootstrap.kubernetes.io/token";
    let left = lab.kubectl(&["get", "secrets", "--all-namespaces", tokens]);
    assert!(left.is_empty(), "{left}");
    for file in [
        r"C:\etc\kubernetes\bootstrap-kubelet.conf",
        r"C:\k\join.yaml",
    ] {
        let line = format!("if exist {file} exit 1");
        lab.cmd("win1", &line);
    }
}

fn drift_is_found_and_mended(lab: &Lab) {
    lab.cmd("win1", r"echo x> C:\k\kube-proxy.json");
    lab.cmd("win1", "sc stop kube-proxy");
    let status = verb(lab, &["status"]).output().unwrap();
    assert_eq!(status.status.code(), Some(4), "{}", text(&status));
    let said = text(&status);
    assert!(said.contains("win1") && said.contains("drifted"), "{said}");
    let plan = succeed(&mut verb(lab, &["plan"]));
    assert!(
        plan.contains("2 to make or change"),
        "nothing else is touched: {plan}"
    );
    succeed(&mut verb(lab, &["apply", "--yes"]));
    let status = verb(lab, &["status"]).output().unwrap();
    assert_eq!(status.status.code(), Some(0), "{}", text(&status));
}
