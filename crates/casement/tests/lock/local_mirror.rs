//! A mirror in a folder, and one's own builds.

use casement_resource::Sha256;

use crate::place::{KUBEADM, Place, artifact};

#[test]
fn a_folder_serves_as_a_mirror_by_path_and_by_url() {
    let place = Place::new();
    place.put(&format!("mirror/{KUBEADM}"), "kubeadm");
    let sum = Sha256::of(b"kubeadm").to_string();
    let said = place.locked(&["--mirror", "mirror"]);
    assert_eq!(artifact(&said, "kubeadm")["sha256"], sum);
    let url = format!("file://{}", place.path("mirror").display());
    let said = place.locked(&["--mirror", &url, "--out", "other.lock"]);
    assert_eq!(artifact(&said, "kubeadm")["sha256"], sum);
    assert_eq!(
        place.names(),
        ["casement.lock", "cluster.yaml", "mirror", "other.lock"]
    );
}

#[test]
fn the_table_says_where_each_hash_is_from() {
    let place = Place::new();
    place.put(&format!("mirror/{KUBEADM}"), "kubeadm");
    let output = place.lock(&["--mirror", "mirror"]);
    let said = String::from_utf8(output.stdout).unwrap();
    let line = |name: &str| {
        let mut lines = said.lines();
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
        said.contains("casement.lock: written, 5 artifacts pinned"),
        "{said}"
    );
    assert!(said.contains("1 unverified"), "{said}");
}

#[test]
fn own_builds_are_pinned_as_they_are_now() {
    let place = Place::new();
    place.put(&format!("mirror/{KUBEADM}"), "kubeadm");
    let spec = place.read("cluster.yaml")
        + "  artifacts:\n    overrides: {kubeadm: ./windows/kubeadm.exe}\n";
    place.put("cluster.yaml", &spec);
    place.put("windows/kubeadm.exe", "mine");
    let said = place.locked(&[]);
    let kubeadm = artifact(&said, "kubeadm");
    assert_eq!(kubeadm["sha256"], Sha256::of(b"mine").to_string());
    assert_eq!(kubeadm["file"], "windows/kubeadm.exe");
    assert_eq!(kubeadm["from"], "file");
    place.put("windows/kubeadm.exe", "mine, mended");
    let said = place.locked(&[]);
    assert_eq!(artifact(&said, "kubeadm")["change"], "changed");
}

#[test]
fn another_version_changes_what_it_must() {
    let place = Place::new();
    place.put(&format!("mirror/{KUBEADM}"), "kubeadm");
    place.locked(&["--mirror", "mirror"]);
    for name in ["kubelet", "kubeadm", "kube-proxy"] {
        let path = format!("mirror/dl.k8s.io/v1.36.9/bin/windows/amd64/{name}.exe");
        place.put(&path, name);
    }
    let spec = place.read("cluster.yaml").replace("1.36.4", "1.36.9");
    place.put("cluster.yaml", &spec);
    let said = place.locked(&["--mirror", "mirror"]);
    assert_eq!(artifact(&said, "kubelet")["change"], "changed");
    assert_eq!(artifact(&said, "kubelet")["from"], "download");
    assert_eq!(artifact(&said, "containerd")["change"], "kept");
}

#[test]
fn what_is_not_needed_any_more_leaves_the_file() {
    let place = Place::new();
    place.put(&format!("mirror/{KUBEADM}"), "kubeadm");
    place.locked(&["--mirror", "mirror"]);
    let stale = place
        .read("casement.lock")
        .replace("\"kubeadm\"", "\"kubeadm-of-old\"");
    place.put("casement.lock", &stale);
    let said = place.locked(&["--mirror", "mirror"]);
    assert_eq!(said["dropped"][0], "kubeadm-of-old (windows)");
    assert!(!place.read("casement.lock").contains("kubeadm-of-old"));
}
