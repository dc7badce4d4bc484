//! `casement reset --all --cluster` restores hosts and cluster and keeps foreign objects.

use serde_json::Value;

use super::apply::casement;
use super::pod::{apply, get};
use super::snapshot::Snapshot;
use crate::lab_fixture::{Lab, eventually, exclusive, succeed};

/// One prefix per line, with the reason why it may differ.
const ALLOWED: &str = include_str!("allowed-differences.txt");

const NETWORK: &str = r#"{"Name": "nat", "Type": "nat",
  "Subnets": [{"AddressPrefix": "172.20.0.0/16", "GatewayAddress": "172.20.0.1"}]}"#;

/// A foreign agent on every node, without a node selector for Linux.
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
fn reset_restores_hosts_and_cluster() {
    assert!(ALLOWED.lines().count() <= 10);
    let _exclusive = exclusive();
    let lab = Lab::named("reset");
    lab.run(&["up", "--hosts", "2"]);
    add_foreign_objects(&lab);
    let hosts = ["win1", "win2"];
    let before = hosts.map(|host| Snapshot::of(&lab, host));
    let cluster = cluster_objects(&lab);
    let routes = lab.run(&["exec", "lin1", "--", "ip", "route", "show"]);

    succeed(&mut casement(&lab, &["apply", "--yes"]));
    let applied = Snapshot::of(&lab, "win1");
    assert!(
        !applied.with_prefix(r"file C:\k\kubelet.exe").is_empty(),
        "the snapshot includes files"
    );
    assert!(!applied.with_prefix("hns networks cbr0").is_empty());
    assert_ne!(cluster_objects(&lab), cluster, "the cluster was changed");

    let printed = succeed(&mut casement(
        &lab,
        &["reset", "--all", "--cluster", "--yes"],
    ));
    for host in hosts {
        assert!(
            printed
                .lines()
                .any(|line| line.contains(host)
                    && line.contains(": all casement resources are removed")),
            "{printed}"
        );
    }
    for (host, before) in hosts.iter().zip(before) {
        let allowed: Vec<String> = allowed_prefixes().collect();
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

    // The hosts can join again.
    succeed(&mut casement(&lab, &["apply", "--yes"]));
}

/// What may differ after services were started and programs ran.
pub fn allowed_prefixes() -> impl Iterator<Item = String> {
    ALLOWED.lines().map(|line| {
        let (prefix, reason) = line.split_once("  # ").expect("a prefix and a reason");
        assert!(!reason.trim().is_empty());
        prefix.trim_end().to_owned()
    })
}

/// Adds objects of others, which reset must keep.
fn add_foreign_objects(lab: &Lab) {
    let key = r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment";
    lab.cmd("win1", r"mkdir C:\k");
    lab.put("win1", "/C:/k/notes.txt", "not casement's");
    lab.cmd(
        "win1",
        r"sc create other binPath= C:\lab\pause.exe start= demand",
    );
    // A leftover of an earlier container runtime.
    lab.cmd(
        "win1",
        r"sc create docker binPath= C:\lab\pause.exe start= auto",
    );
    // A rule with the same name as one of casement's.
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
    eventually("the foreign network exists", 20, || {
        let line = r"C:\lab\hnscall.exe GET /networks/";
        let output = lab.ssh("Administrator", "win1", line).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.contains("172.20.0.0/16").then_some(())
    });
    apply(lab, DAEMON_SET);
}

/// All objects that casement may change, without fields that the API server maintains.
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
