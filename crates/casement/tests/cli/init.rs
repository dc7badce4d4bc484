//! `casement init`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn init(folder: &Path, args: &[&str]) -> (i32, String, String) {
    let output: Output = Command::new(env!("CARGO_BIN_EXE_casement"))
        .arg("init")
        .args(args)
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
fn starter_file_is_not_overwritten_without_force() {
    let folder = tempfile::tempdir().unwrap();
    let (code, stdout, stderr) = init(folder.path(), &[]);
    assert_eq!((code, stdout.as_str()), (0, ""), "{stderr}");
    assert!(stderr.contains("Wrote cluster.yaml"), "{stderr}");
    let file = folder.path().join("cluster.yaml");
    fs::write(&file, "mine\n").unwrap();
    let (code, _, stderr) = init(folder.path(), &[]);
    assert_eq!(code, 2);
    assert!(
        stderr.contains("CAS-INIT-005") && stderr.contains("--force"),
        "{stderr}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine\n");
    let (code, _, stderr) = init(folder.path(), &["--force"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(fs::read_to_string(&file).unwrap().contains("kind: Cluster"));
    let count = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(count, 1, "no other file is left");
}

#[test]
fn kubeinit_arguments_become_a_cluster_file() {
    let folder = tempfile::tempdir().unwrap();
    let (code, stdout, stderr) = init(
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
    assert_eq!(code, 0, "{stderr}");
    for address in ["10.0.0.1\n", "10.0.0.2\n", "10.0.0.253\n", "nyctea"] {
        assert!(
            stdout.contains(&format!("address: {address}")),
            "{address}\n{stdout}"
        );
    }
    assert!(
        !stdout.contains("address: tyto") && stderr.contains("tyto"),
        "{stderr}"
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn inventory_is_read_with_its_group_vars() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir_all(path("inventory/group_vars")).unwrap();
    fs::write(path("inventory/hosts.ini"), "[kube-master]\nubuntu01 ansible_host=10.3.0.1\n[node-windows]\nwindows01 ansible_host=10.3.0.4\n").unwrap();
    fs::write(
        path("inventory/group_vars/all.yml"),
        "kube_version: v1.31.2\nansible_password: in-clear-text\nother: 1\n",
    )
    .unwrap();
    let args = [
        "--from-inventory",
        "inventory/hosts.ini",
        "--out",
        "new.yaml",
    ];
    let (code, _, stderr) = init(folder.path(), &args);
    assert_eq!(code, 0, "{stderr}");
    let written = fs::read_to_string(path("new.yaml")).unwrap();
    assert!(written.contains("version: 1.31.2"), "{written}");
    assert!(
        stderr.contains("inventory/group_vars/all.yml:3  `other`"),
        "{stderr}"
    );
    assert!(
        stderr.contains("inventory/group_vars/all.yml:2"),
        "{stderr}"
    );
    assert!(!written.contains("in-clear-text") && !stderr.contains("in-clear-text"));
}

/// The inventory of widely used playbooks with the values of their guide: only its proxy
/// exclusion list is too short.
#[test]
fn playbook_inventory_has_only_the_expected_finding() {
    let folder = tempfile::tempdir().unwrap();
    let inventory = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../source/tests/import/kubernetes-for-windows/hosts.ini");
    let (code, _, stderr) = init(
        folder.path(),
        &["--from-inventory", inventory.to_str().unwrap()],
    );
    assert_eq!(code, 0, "{stderr}");
    let output = Command::new(env!("CARGO_BIN_EXE_casement"))
        .args(["lint", "--output", "json"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let codes: Vec<_> = document["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["code"].as_str().unwrap())
        .collect();
    assert_eq!(codes, ["CAS-ACC-010"]);
    let written = fs::read_to_string(folder.path().join("cluster.yaml")).unwrap();
    let with = |text: &str| written.lines().filter(|line| line.contains(text)).count();
    assert_eq!(with("[control-plane"), 2, "{written}");
    assert_eq!(with("etcd]"), 3, "{written}");
    assert_eq!(with("os: windows "), 2, "{written}");
    for number in 1..=5 {
        assert_eq!(with(&format!("address: 10.3.0.{number} ")), 1, "{written}");
    }
}

#[test]
fn invalid_inventory_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("hosts"),
        "[web]\nwin[1:x] ansible_password=hidden-one\n[db:children]\nnone\n",
    )
    .unwrap();
    let (code, _, stderr) = init(folder.path(), &["--from-inventory", "hosts"]);
    assert_eq!(code, 3);
    assert!(
        stderr.contains("CAS-IMPORT-004") && stderr.contains("hosts:2:1"),
        "{stderr}"
    );
    assert!(
        stderr.contains("CAS-IMPORT-002") && stderr.contains("hosts:4:1"),
        "{stderr}"
    );
    assert!(!stderr.contains("hidden-one"), "{stderr}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn script_arguments_become_a_cluster_file() {
    let folder = tempfile::tempdir().unwrap();
    let script_args = r"-BaseDir C:\k -ClusterCIDR 10.244.0.0/16 -Release 1.21.5";
    let (code, stdout, stderr) = init(
        folder.path(),
        &["--from-script-args", script_args, "--out", "-"],
    );
    assert_eq!(code, 0, "{stderr}");
    assert!(
        stdout.contains("serviceCidr: 10.10.0.0/16") && stdout.contains("hnsNetwork: vxlan0"),
        "{stdout}"
    );
}

#[test]
fn closed_pipe_behind_standard_output_is_not_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = Command::new(env!("CARGO_BIN_EXE_casement"))
        .args(["init", "--out", "-"])
        .current_dir(folder.path())
        .stdout(writer)
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{stderr}");
    assert!(!stderr.contains("error"), "{stderr}");
}

#[test]
fn too_large_inventory_is_reported_with_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("hosts"), vec![b'#'; 9_017_753]).unwrap();
    let (code, _, stderr) = init(folder.path(), &["--from-inventory", "hosts"]);
    assert_eq!(code, 2, "{stderr}");
    for part in ["CAS-INIT-003", "8.6 MiB", "8.0 MiB"] {
        assert!(stderr.contains(part), "{stderr}");
    }
}

#[test]
fn inventory_with_a_byte_order_mark_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hosts");
    let args = ["--from-inventory", "hosts", "--out", "-"];
    for text in [
        "[windows]\nwin1 ansible_host=10.3.0.4\n",
        "all:\n  hosts:\n    win1: {ansible_host: 10.3.0.4}\n",
    ] {
        fs::write(&file, format!("\u{feff}{text}")).unwrap();
        let (code, stdout, stderr) = init(folder.path(), &args);
        assert_eq!(code, 0, "{stderr}");
        assert!(stdout.contains("10.3.0.4"), "{stdout}");
    }
}
