//! A mirror in a local folder, and overrides with own builds.

use casement_resource::Sha256;

use crate::workspace::{KUBEADM, Workspace, artifact};

#[test]
fn folder_mirror_works_by_path_and_by_url() {
    let workspace = Workspace::new();
    workspace.put(&format!("mirror/{KUBEADM}"), "kubeadm");
    let sum = Sha256::of(b"kubeadm").to_string();
    let result = workspace.lock_succeeds(&["--mirror", "mirror"]);
    assert_eq!(artifact(&result, "kubeadm")["sha256"], sum);
    let url = format!("file://{}", workspace.path("mirror").display());
    let result = workspace.lock_succeeds(&["--mirror", &url, "--out", "other.lock"]);
    assert_eq!(artifact(&result, "kubeadm")["sha256"], sum);
    assert_eq!(
        workspace.names(),
        ["casement.lock", "cluster.yaml", "mirror", "other.lock"]
    );
}

#[test]
fn table_shows_the_source_of_each_hash() {
    let workspace = Workspace::new();
    workspace.put(&format!("mirror/{KUBEADM}"), "kubeadm");
    let output = workspace.lock(&["--mirror", "mirror"]);
    let printed = String::from_utf8(output.stdout).unwrap();
    let line = |name: &str| {
        let mut lines = printed.lines();
        let line = lines.find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        line("kubelet"),
        "kubelet windows 1.36.4 dbb90c2e2028 catalog new"
    );
    let short = Sha256::of(b"kubeadm").short();
    let expected = format!("kubeadm windows 1.36.4 {short} download, unverified new");
    assert_eq!(line("kubeadm"), expected);
    assert!(
        printed.contains("casement.lock: written, 5 artifacts pinned"),
        "{printed}"
    );
    assert!(printed.contains("1 unverified"), "{printed}");
}

#[test]
fn overrides_are_pinned_by_their_current_content() {
    let workspace = Workspace::new();
    workspace.put(&format!("mirror/{KUBEADM}"), "kubeadm");
    let spec = workspace.read("cluster.yaml")
        + "  artifacts:\n    overrides: {kubeadm: ./windows/kubeadm.exe}\n";
    workspace.put("cluster.yaml", &spec);
    workspace.put("windows/kubeadm.exe", "mine");
    let result = workspace.lock_succeeds(&[]);
    let kubeadm = artifact(&result, "kubeadm");
    assert_eq!(kubeadm["sha256"], Sha256::of(b"mine").to_string());
    assert_eq!(kubeadm["file"], "windows/kubeadm.exe");
    assert_eq!(kubeadm["from"], "file");
    workspace.put("windows/kubeadm.exe", "mine, fixed");
    let result = workspace.lock_succeeds(&[]);
    assert_eq!(artifact(&result, "kubeadm")["change"], "changed");
}

#[test]
fn version_change_updates_only_affected_artifacts() {
    let workspace = Workspace::new();
    workspace.put(&format!("mirror/{KUBEADM}"), "kubeadm");
    workspace.lock_succeeds(&["--mirror", "mirror"]);
    for name in ["kubelet", "kubeadm", "kube-proxy"] {
        let path = format!("mirror/dl.k8s.io/v1.36.9/bin/windows/amd64/{name}.exe");
        workspace.put(&path, name);
    }
    let spec = workspace.read("cluster.yaml").replace("1.36.4", "1.36.9");
    workspace.put("cluster.yaml", &spec);
    let result = workspace.lock_succeeds(&["--mirror", "mirror"]);
    assert_eq!(artifact(&result, "kubelet")["change"], "changed");
    assert_eq!(artifact(&result, "kubelet")["from"], "download");
    assert_eq!(artifact(&result, "containerd")["change"], "kept");
}

#[test]
fn unneeded_artifact_is_dropped_from_the_lock_file() {
    let workspace = Workspace::new();
    workspace.put(&format!("mirror/{KUBEADM}"), "kubeadm");
    workspace.lock_succeeds(&["--mirror", "mirror"]);
    let stale = workspace
        .read("casement.lock")
        .replace("\"kubeadm\"", "\"kubeadm-of-old\"");
    workspace.put("casement.lock", &stale);
    let result = workspace.lock_succeeds(&["--mirror", "mirror"]);
    assert_eq!(result["dropped"][0], "kubeadm-of-old (windows)");
    assert!(!workspace.read("casement.lock").contains("kubeadm-of-old"));
}
