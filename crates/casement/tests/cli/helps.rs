//! Help texts and errors of commands, before they connect.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn casement(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_casement"))
        .args(args)
        .current_dir(dir)
        .env("HOME", dir)
        .env_remove("XDG_CACHE_HOME")
        .env_remove("XDG_STATE_HOME")
        .output()
        .unwrap()
}

/// Without a kubeconfig: nothing is connected to. The addresses are for documentation.
fn spec(linux_managed: bool) -> String {
    format!(
        "apiVersion: casement.dev/v1alpha1\nkind: Cluster\nmetadata: {{name: shop}}\nspec:\n  \
         kubernetes: {{version: 1.36.3}}\n  existing: {{kubeconfig: ./admin.conf}}\n  \
         network: {{mode: l3-routes}}\n  hosts:\n    \
         - {{name: lin1, address: 192.0.2.2, os: linux, roles: [worker], managed: {linux_managed}}}\n    \
         - {{name: win1, address: 192.0.2.3, os: windows-2022, roles: [worker]}}\n"
    )
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// The help of `CAS-CTL-023` refers to it.
#[test]
fn help_of_converge_describes_a_valid_hosts_file() {
    let dir = tempfile::tempdir().unwrap();
    let help = casement(dir.path(), &["converge", "--help"]);
    let (_, example) = text(&help.stdout).split_once("Hosts file:\n").unwrap();
    let (example, _) = example.split_once("\n\n").unwrap();
    fs::write(dir.path().join("hosts.json"), example).unwrap();
    fs::write(dir.path().join("document.json"), "{}").unwrap();
    let args = ["converge", "document.json", "--hosts", "hosts.json"];
    let output = casement(dir.path(), &args);
    let printed = text(&output.stderr);
    // The file is valid: only its key does not exist.
    assert!(printed.contains("id_ed25519"), "{printed}");
    assert!(!printed.contains("CAS-CTL-02"), "{printed}");
}

#[test]
fn missing_linux_agent_is_reported_before_anything_starts() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("casement-node.exe"), "agent").unwrap();
    let reset = |managed| {
        fs::write(dir.path().join("cluster.yaml"), spec(managed)).unwrap();
        // There is no kubeconfig: nothing is connected to.
        let output = casement(dir.path(), &["reset", "--all", "--yes", "--agent-dir", "."]);
        text(&output.stderr).to_owned()
    };
    let printed = reset(true);
    assert!(
        printed.contains("CAS-CTL-001") && printed.contains("`casement-node`"),
        "{printed}"
    );
    let printed = reset(false);
    assert!(!printed.contains("CAS-CTL-001"), "{printed}");
    assert!(printed.contains("admin.conf"), "{printed}");
}

#[test]
fn demo_rejects_a_fault_without_its_host_before_it_starts() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["demo", "--hosts", "1", "--fail", "image-build"];
    let output = casement(dir.path(), &args);
    let printed = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{printed}");
    for part in [
        "CAS-DEMO-005",
        "`casement demo --fail image-build --hosts 2`",
    ] {
        assert!(printed.contains(part), "{printed}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn deleted_current_directory_is_not_reported_as_invalid_utf_8() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("deleted")).unwrap();
    let file = dir.path().join("cluster.yaml");
    fs::write(&file, spec(false)).unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "rmdir \"$PWD\" && exec \"$@\"", "sh"]);
    command.arg(env!("CARGO_BIN_EXE_casement"));
    command.arg("lock").arg("-f").arg(&file);
    command.args(["--out", "casement.lock"]);
    let output = command
        .current_dir(dir.path().join("deleted"))
        .output()
        .unwrap();
    let printed = text(&output.stderr);
    assert!(printed.contains("CAS-FILE-022"), "{printed}");
}

#[test]
fn missing_home_directory_is_reported_with_its_field() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("cluster.yaml"), spec(false)).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_casement"))
        .args(["reset", "--all", "--yes"])
        .current_dir(dir.path())
        .env_remove("HOME")
        .env_remove("USERPROFILE")
        .output()
        .unwrap();
    let printed = text(&output.stderr);
    for part in ["CAS-FILE-003", "set HOME", "full path"] {
        assert!(printed.contains(part), "{printed}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn full_disk_behind_standard_output_is_reported() {
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_casement"))
        .args(["catalog", "skew"])
        .stdout(full)
        .output()
        .unwrap();
    let printed = text(&output.stderr);
    for part in ["CAS-FILE-006", "free some space"] {
        assert!(printed.contains(part), "{printed}");
    }
}
