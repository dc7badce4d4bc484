//! `casement reset --all --cluster`: hosts and cluster as they were before, with
//! what others had put there.

use serde_json::Value;

use super::apply::verb;
use super::pod::{apply, get};
use super::snapshot::Snapshot;
use crate::machine::{Lab, alone, eventually, succeed};

/// One lead a line, and why it may differ.
const ALLOWED: &str = include_str!("allowed-differences.txt");

const NETWORK: &str = r#"{"Name": "nat", "Type": "nat",
  "Subnets": [{"AddressPrefix": "172.20.0.0/16", "GatewayAddress": "172.20.0.1"}]}"#;

/// Somebody's agent on every node, which nobody thought of Windows for.
const DAEMON_SET: &str = "apiVersion: apps/v1
kind: DaemonSet
metadata: {name: everywhere, namespace: kube-system}
spec:
  selector: {matchLabels: {app: everywhere}}
  template:
    metadata: {labels: {app: everywhere}}
    spec:
      tolerations: [{operator: Exists}]
      containers: [{name: agent, image: example.invalid/agent}]
";

#[test]
#[ignore = "needs root, wine and go"]
fn reset_leaves_hosts_and_cluster_as_they_were() {
    assert!(ALLOWED.lines().count() <= 10);
    let _alone = alone();
    let lab = Lab::named("reset");
    lab.run(&["up", "--hosts", "2"]);
    plant(&lab);
    let hosts = ["win1", "win2"];
    let before = hosts.map(|host| Snapshot::of(&lab, host));
    let cluster = cluster_objects(&lab);
    let routes = lab.run(&["exec", "lin1", "--", "ip", "route", "show"]);

    succeed(&mut verb(&lab, &["apply", "--yes"]));
    let applied = Snapshot::of(&lab, "win1");
    assert!(
        !applied.below(r"file C:\k\kubelet.exe").is_empty(),
        "the snapshot sees files"
    );
    assert!(!applied.below("hns networks cbr0").is_empty());
    assert_ne!(cluster_objects(&lab), cluster, "the cluster was changed");

    let said = succeed(&mut verb(&lab, &["reset", "--all", "--cluster", "--yes"]));
    for host in hosts {
        assert!(
            said.lines()
                .any(|line| line.contains(host) && line.contains(": nothing of casement's is left")),
            "{said}"
        );
    }
    for (host, before) in hosts.iter().zip(before) {
        let allowed: Vec<String> = leads().collect();
        let after = Snapshot::of(&lab, host).without(&allowed);
        let differences = before.without(&allowed).differences(&after);
        assert!(
            differences.is_empty(),
            "{host}:\n{}",
            differences.join("\n")
        );
    }
    assert_eq!(cluster_objects(&lab), cluster);
    let nodes = lab.kubectl(&["get", "nodes", "--output=name"]);
    assert_eq!(nodes.trim(), "node/lin1");
    let after = lab.run(&["exec", "lin1", "--", "ip", "route", "show"]);
    assert_eq!(after, routes);
    lab.run(&["exec", "lin1", "--", "test", "!", "-e", "/var/lib/casement"]);

    // And it can be made a node again.
    succeed(&mut verb(&lab, &["apply", "--yes"]));
}

/// What may differ whenever services were started and programs ran.
pub fn leads() -> impl Iterator<Item = String> {
    ALLOWED.lines().map(|line| {
        let (lead, reason) = line.split_once("  # ").expect("a lead, and a reason");
        assert!(!reason.trim().is_empty());
        lead.trim_end().to_owned()
    })
}

/// What others have on the host, and must keep.
fn plant(lab: &Lab) {
    let key = r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment";
    lab.cmd("win1", r"mkdir C:\k");
    lab.put("win1", "/C:/k/notes.txt", "somebody else's");
    lab.cmd(
        "win1",
        r"sc create other binPath= C:\lab\pause.exe start= demand",
    );
    // As the systems that came before leave it.
    lab.cmd(
        "win1",
        r"sc create docker binPath= C:\lab\pause.exe start= auto",
    );
    // One whose name is the same as that of casement's.
    let rules = r"HKLM\SYSTEM\CurrentControlSet\Services\SharedAccess\Parameters\FirewallPolicy\FirewallRules";
    let rule =
        "v2.31|Action=Block|Active=TRUE|Dir=In|Protocol=6|LPort=10250|Name=casement kubelet|";
    lab.cmd(
        "win1",
        &format!(r#"reg add "{rules}" /v theirs /t REG_SZ /d "{rule}" /f"#),
    );
    lab.cmd(
        "win1",
        r"reg add HKLM\SOFTWARE\Other /v Mine /t REG_SZ /d theirs /f",
    );
    lab.cmd(
        "win1",
        &format!(r#"reg add "{key}" /v PATH /t REG_EXPAND_SZ /d "C:\other;%SystemRoot%\system32;%SystemRoot%" /f"#),
    );
    lab.put("win1", "/C:/nat.json", NETWORK);
    let line = r"C:\lab\hnscall.exe POST /networks/ C:\nat.json";
    let _ = lab.ssh("Administrator", "win1", line).output();
    eventually("the network of others is there", 20, || {
        let line = r"C:\lab\hnscall.exe GET /networks/";
        let output = lab.ssh("Administrator", "win1", line).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.contains("172.20.0.0/16").then_some(())
    });
    apply(lab, DAEMON_SET);
}

/// Everything that casement may touch, without what the API server counts.
fn cluster_objects(lab: &Lab) -> Vec<Value> {
    let kinds = "daemonsets,configmaps,roles,rolebindings,clusterroles,clusterrolebindings,\
                 runtimeclasses,secrets";
    let list = get(lab, &[kinds, "--all-namespaces"]);
    let mut objects = list["items"].as_array().unwrap().clone();
    for object in &mut objects {
        let object = object.as_object_mut().unwrap();
        object.remove("status");
        let metadata = object["metadata"].as_object_mut().unwrap();
        for field in [
            "resourceVersion",
            "generation",
            "managedFields",
            "annotations",
        ] {
            metadata.remove(field);
        }
    }
    objects
}
