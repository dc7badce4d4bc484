//! `casement init` as a person runs it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn init(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output: Output = Command::new(env!("CARGO_BIN_EXE_casement"))
        .arg("init")
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn a_starter_file_is_written_once() {
    let folder = tempfile::tempdir().unwrap();
    let (code, out, told) = init(folder.path(), &[]);
    assert_eq!((code, out.as_str()), (0, ""), "{told}");
    assert!(told.contains("Wrote cluster.yaml"), "{told}");
    let file = folder.path().join("cluster.yaml");
    fs::write(&file, "mine\n").unwrap();
    let (code, _, told) = init(folder.path(), &[]);
    assert_eq!(code, 2);
    assert!(
        told.contains("CAS-INIT-005") && told.contains("--force"),
        "{told}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine\n");
    let (code, _, told) = init(folder.path(), &["--force"]);
    assert_eq!(code, 0, "{told}");
    assert!(fs::read_to_string(&file).unwrap().contains("kind: Cluster"));
    let left = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 1, "only the file itself is there");
}

#[test]
fn the_blogs_command_prints_its_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let (code, out, told) = init(
        folder.path(),
        &[
            "--from-kubeinit",
            "k8s-libvirt-1-1-1",
            "--nodes",
            "[[when_group=compute_nodes,os=windows]]",
            "--hypervisors",
            "[[ansible_host=nyctea],[ansible_host=tyto]]",
            "--out",
            "-",
        ],
    );
    assert_eq!(code, 0, "{told}");
    for address in ["10.0.0.1\n", "10.0.0.2\n", "10.0.0.253\n", "nyctea"] {
        assert!(
            out.contains(&format!("address: {address}")),
            "{address}\n{out}"
        );
    }
    assert!(
        !out.contains("address: tyto") && told.contains("tyto"),
        "{told}"
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn an_inventory_is_read_with_what_lies_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir_all(path("inventory/group_vars")).unwrap();
    fs::write(path("inventory/hosts.ini"), "[kube-master]\nubuntu01 ansible_host=10.3.0.1\n[node-windows]\nwindows01 ansible_host=10.3.0.4\n").unwrap();
    fs::write(
        path("inventory/group_vars/all.yml"),
        "kube_version: v1.31.2\nansible_password: in-clear-text\nother: 1\n",
    )
    .unwrap();
    let arguments = [
        "--from-inventory",
        "inventory/hosts.ini",
        "--out",
        "new.yaml",
    ];
    let (code, _, told) = init(folder.path(), &arguments);
    assert_eq!(code, 0, "{told}");
    let written = fs::read_to_string(path("new.yaml")).unwrap();
    assert!(written.contains("version: 1.31.2"), "{written}");
    assert!(
        told.contains("inventory/group_vars/all.yml:3  `other`"),
        "{told}"
    );
    assert!(told.contains("inventory/group_vars/all.yml:2"), "{told}");
    assert!(!written.contains("in-clear-text") && !told.contains("in-clear-text"));
}

/// The inventory of the playbooks that many hybrid clusters were made with, with
/// the values of their guide: only its list for the proxy is too short.
#[test]
fn the_playbooks_inventory_lints_only_where_it_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let inventory = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../source/tests/import/kubernetes-for-windows/hosts.ini");
    let (code, _, told) = init(
        folder.path(),
        &["--from-inventory", inventory.to_str().unwrap()],
    );
    assert_eq!(code, 0, "{told}");
    let output = Command::new(env!("CARGO_BIN_EXE_casement"))
        .args(["lint", "--output", "json"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let findings: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let codes: Vec<_> = findings
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["code"].as_str().unwrap())
        .collect();
    assert_eq!(codes, ["CAS-ACC-010"]);
    let written = fs::read_to_string(folder.path().join("cluster.yaml")).unwrap();
    let with = |word: &str| written.lines().filter(|line| line.contains(word)).count();
    assert_eq!(with("[control-plane"), 2, "{written}");
    assert_eq!(with("etcd]"), 3, "{written}");
    assert_eq!(with("os: windows "), 2, "{written}");
    for number in 1..=5 {
        assert_eq!(with(&format!("address: 10.3.0.{number} ")), 1, "{written}");
    }
}

#[test]
fn a_wrong_inventory_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("hosts"),
        "[web]\nwin[1:x] ansible_password=hidden-one\n[db:children]\nnone\n",
    )
    .unwrap();
    let (code, _, told) = init(folder.path(), &["--from-inventory", "hosts"]);
    assert_eq!(code, 3);
    assert!(
        told.contains("CAS-IMPORT-004") && told.contains("hosts:2:1"),
        "{told}"
    );
    assert!(
        told.contains("CAS-IMPORT-002") && told.contains("hosts:4:1"),
        "{told}"
    );
    assert!(!told.contains("hidden-one"), "{told}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn the_scripts_arguments_become_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let told = r"-BaseDir C:\k -ClusterCIDR 10.244.0.0/16 -Release 1.21.5";
    let (code, out, told) = init(folder.path(), &["--from-script-args", told, "--out", "-"]);
    assert_eq!(code, 0, "{told}");
    assert!(
        out.contains("serviceCidr: 10.10.0.0/16") && out.contains("hnsNetwork: vxlan0"),
        "{out}"
    );
}
