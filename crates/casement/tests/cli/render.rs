//! `casement render` and `casement plan --offline`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::json_output::assert_documented;

const SPEC: &str = "
apiVersion: casement.dev/v1alpha1
kind: Cluster
metadata: {name: shop}
spec:
  kubernetes: {version: 1.36.3}
  existing: {kubeconfig: ./admin.conf}
  network: {mode: l3-routes}
  hosts:
    - {name: lin1, address: 10.3.0.2, os: linux, roles: [worker], managed: true}
    - {name: win1, address: 10.3.0.4, os: windows-2022, roles: [worker]}
";

/// The names and numbers of a widely used guide for overlay clusters.
const OVERLAY: &str = "
apiVersion: casement.dev/v1alpha1
kind: Cluster
metadata: {name: shop}
spec:
  kubernetes: {version: 1.36.3, podCidr: 10.244.0.0/16}
  existing: {kubeconfig: ./admin.conf}
  network: {mode: flannel-overlay, vni: 4096, port: 4789, hnsNetwork: vxlan0, cniName: vxlan0}
  hosts:
    - {name: win1, address: 10.3.0.4, os: windows-2022, roles: [worker]}
";

/// The three hosts of the first guide to Kubernetes on Windows.
const ROUTED: &str = "
apiVersion: casement.dev/v1alpha1
kind: Cluster
metadata: {name: first}
spec:
  kubernetes: {version: 1.21.5, podCidr: 192.168.0.0/16, cidrAllocation: hosts}
  network: {mode: l3-routes}
  runtime: {kind: docker}
  hosts:
    - {name: lin01, address: 10.3.0.1, os: linux, roles: [control-plane, worker], podCidr: 192.168.0.0/24}
    - {name: win01, address: 10.3.0.2, os: windows-2016, podCidr: 192.168.1.0/24}
    - {name: win02, address: 10.3.0.3, os: windows-2016, podCidr: 192.168.2.0/24}
";

fn casement(folder: &Path, args: &[&str]) -> Output {
    casement_with(SPEC, folder, args)
}

fn casement_with(spec: &str, folder: &Path, args: &[&str]) -> Output {
    fs::write(folder.join("cluster.yaml"), spec).unwrap();
    Command::new(env!("CARGO_BIN_EXE_casement"))
        .args(args)
        .current_dir(folder)
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn unknown_kind_or_host_gets_a_suggestion() {
    let folder = tempfile::tempdir().unwrap();
    for (args, suggestion) in [
        (&["render", "kubelett"][..], "`kubelet`"),
        (&["render", "cni", "win2"], "`win1`"),
    ] {
        let output = casement(folder.path(), args);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("did you mean"), "{stderr}");
        assert!(stderr.contains(suggestion), "{stderr}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn single_file_is_printed_verbatim_and_several_with_headers() {
    let folder = tempfile::tempdir().unwrap();
    let one = casement(folder.path(), &["render", "kube-proxy", "win1"]);
    let document: serde_json::Value = serde_json::from_str(&stdout(&one)).unwrap();
    assert_eq!(document["hostnameOverride"], "win1");
    let several = casement(folder.path(), &["render", "cni"]);
    assert!(stdout(&several).starts_with("==> lin1/cni/10-casement.conflist <==\n"));
}

#[test]
fn rendering_to_a_folder_is_reproducible() {
    let folder = tempfile::tempdir().unwrap();
    for dir in ["one", "other"] {
        let args = ["render", "all", "--assume-pod-cidrs", "--out", dir];
        assert!(casement(folder.path(), &args).status.success());
    }
    let mut names = Vec::new();
    for host in fs::read_dir(folder.path().join("one")).unwrap() {
        for kind in fs::read_dir(host.unwrap().path()).unwrap() {
            for file in fs::read_dir(kind.unwrap().path()).unwrap() {
                let path = file.unwrap().path();
                let name = path.strip_prefix(folder.path().join("one")).unwrap();
                let other = folder.path().join("other").join(name);
                assert_eq!(fs::read(&path).unwrap(), fs::read(other).unwrap());
                names.push(name.display().to_string());
            }
        }
    }
    assert!(
        names.contains(&"win1/routes/routes.cmd".to_owned()),
        "{names:?}"
    );
    assert!(
        names.contains(&"lin1/kubeadm/join.json".to_owned()),
        "{names:?}"
    );
}

#[test]
fn offline_plan_marks_what_is_known_after_join() {
    let folder = tempfile::tempdir().unwrap();
    let offline = casement(folder.path(), &["plan", "--offline"]);
    assert!(offline.status.success());
    assert!(
        stdout(&offline).contains("stage Network: known after join"),
        "{}",
        stdout(&offline)
    );
    let args = ["plan", "--offline", "--assume-pod-cidrs", "-o", "json"];
    let known = casement(folder.path(), &args);
    let document: serde_json::Value = serde_json::from_str(&stdout(&known)).unwrap();
    assert_eq!(document["hosts"][1]["documents"][2]["stage"], "network");
    assert_documented(&document, "Plan");
    let steps = document["hosts"][1]["steps"].as_array().unwrap();
    let summary = &document["summary"];
    assert!(steps.iter().all(|step| step["action"] == "create"));
    assert!(summary["create"].as_u64().unwrap() > 20, "{summary}");
    let last = steps.last().unwrap();
    assert_eq!(
        (&last["host"], &last["stage"]),
        (&"win1".into(), &"network".into())
    );
}

#[test]
fn flannel_documents_have_the_values_of_the_cluster_file() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["render", "flannel", "--out", "out"];
    let output = casement_with(OVERLAY, folder.path(), &args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let read = |name: &str| -> serde_json::Value {
        let path = folder.path().join("out/cluster/flannel").join(name);
        serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
    };
    let net_conf = read("net-conf.json");
    assert_eq!(net_conf["Network"], "10.244.0.0/16");
    assert_eq!(
        net_conf["Backend"],
        serde_json::json!({"Type": "vxlan", "VNI": 4096, "Port": 4789, "Name": "vxlan0"})
    );
    assert_eq!(read("cni-conf.json")["name"], "vxlan0");
}

#[test]
fn routes_connect_all_hosts_by_their_addresses() {
    let folder = tempfile::tempdir().unwrap();
    let output = casement_with(ROUTED, folder.path(), &["render", "routes"]);
    let printed = stdout(&output);
    for line in [
        "ip route replace 192.168.1.0/24 via 10.3.0.2",
        "ip route replace 192.168.2.0/24 via 10.3.0.3",
        "route add 192.168.0.0 mask 255.255.255.0 10.3.0.1 -p",
        "route add 192.168.2.0 mask 255.255.255.0 10.3.0.3 -p",
        "route add 192.168.1.0 mask 255.255.255.0 10.3.0.2 -p",
    ] {
        assert!(printed.contains(line), "{line} is not in {printed}");
    }
}
