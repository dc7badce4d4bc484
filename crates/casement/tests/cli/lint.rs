//! `casement lint` and `casement explain`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::json_output::assert_documented;

const SPEC: &str = "\
apiVersion: casement.dev/v1alpha1
kind: Cluster
metadata: {name: shop}
spec:
  kubernetes: {version: 1.36.3}   # keep me
  existing: {kubeconfig: ./admin.conf}
  network: {mode: flannel-overlay, vni: 1}
  hosts:
    - {name: win1, address: 10.3.0.4, os: windows-2022}
";

fn casement(folder: &Path, args: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_casement");
    let mut command = Command::new(program);
    command.current_dir(folder).args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn errors_exit_with_3_and_fixed_files_with_0() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cluster.yaml");
    fs::write(&file, SPEC).unwrap();
    let output = casement(folder.path(), &["lint"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(
        text(&output.stdout).contains("error[CAS-NET-020]"),
        "{output:?}"
    );
    let output = casement(folder.path(), &["lint", "--fix"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(
        text(&output.stderr),
        "fixed cluster.yaml: CAS-NET-020: set 4096\n"
    );
    let fixed = fs::read_to_string(&file).unwrap();
    assert_eq!(fixed, SPEC.replace("vni: 1", "vni: 4096"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn folder_is_linted_without_a_cluster_file() {
    let folder = tempfile::tempdir().unwrap();
    let manifests = folder.path().join("manifests/deep");
    fs::create_dir_all(&manifests).unwrap();
    let conf = r#"{"Network": "10.244.0.0/16", "Backend": {"Type": "ipsec"}}"#;
    fs::write(manifests.join("net-conf.json"), conf).unwrap();
    fs::write(manifests.join("notes.md"), "not linted").unwrap();
    let output = casement(folder.path(), &["lint", "manifests", "-o", "json"]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_documented(&document, "Lint");
    let findings = &document["findings"];
    assert_eq!(document["files"][0], "manifests/deep/net-conf.json");
    assert_eq!(findings[0]["code"], "CAS-NET-023");
    assert_eq!(
        findings[0]["location"]["file"],
        "manifests/deep/net-conf.json"
    );
    assert_eq!(findings.as_array().unwrap().len(), 1);
}

#[test]
fn sarif_lists_every_rule_and_the_location_of_findings() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("cluster.yaml"), SPEC).unwrap();
    let output = casement(folder.path(), &["lint", "-o", "sarif"]);
    let log: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let run = &log["runs"][0];
    assert!(run["tool"]["driver"]["rules"].as_array().unwrap().len() > 100);
    let result = &run["results"][0];
    let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
    assert_eq!(
        run["tool"]["driver"]["rules"][index]["id"],
        result["ruleId"]
    );
    let region = &result["locations"][0]["physicalLocation"]["region"];
    assert_eq!(region["startLine"], 7);
}

#[test]
fn missing_file_is_a_usage_error() {
    let folder = tempfile::tempdir().unwrap();
    for args in [
        &["lint"][..],
        &["lint", "manifests/"],
        &["explain", "CAS-NTE-020"],
    ] {
        let output = casement(folder.path(), args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(text(&output.stderr).contains("\n  help "), "{args:?}");
    }
}

#[test]
fn explain_prints_the_page_of_a_code() {
    let folder = tempfile::tempdir().unwrap();
    let output = casement(folder.path(), &["explain", "cas-net-020"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).starts_with("# CAS-NET-020: "));
    let output = casement(folder.path(), &["explain", "CAS-NTE-020"]);
    assert!(text(&output.stderr).contains("did you mean CAS-NET-020?"));
}
