//! An HTTP mirror.

use casement_resource::Sha256;

use crate::server::{Response, Server};
use crate::workspace::{KUBEADM, Workspace, artifact};

fn text(text: &str) -> Response {
    Response::Text(text.to_owned())
}

#[test]
fn published_checksum_is_used_without_downloading() {
    let checksum_path = format!("{KUBEADM}.sha256");
    let checksum = Sha256::of(b"kubeadm").to_string();
    let server = Server::start(&[
        (&checksum_path, text(&checksum)),
        (KUBEADM, text("kubeadm")),
    ]);
    let workspace = Workspace::new();
    let result = workspace.lock_succeeds(&["--mirror", &server.url]);
    let kubeadm = artifact(&result, "kubeadm");
    assert_eq!(kubeadm["sha256"], checksum);
    assert_eq!(kubeadm["from"], "mirror");
    assert_eq!(kubeadm["unverified"], true);
    assert_eq!(kubeadm["source"], format!("{}/{checksum_path}", server.url));
    assert_eq!(artifact(&result, "kubelet")["from"], "catalog");
    assert_eq!(server.requests(), [format!("/{checksum_path}")]);
}

#[test]
fn download_is_hashed_where_no_checksum_is_published() {
    let server = Server::start(&[
        (KUBEADM, Response::Redirect("/store/kubeadm".to_owned())),
        ("store/kubeadm", text("kubeadm")),
    ]);
    let workspace = Workspace::new();
    let result = workspace.lock_succeeds(&["--mirror", &server.url]);
    let kubeadm = artifact(&result, "kubeadm");
    assert_eq!(kubeadm["sha256"], Sha256::of(b"kubeadm").to_string());
    assert_eq!(kubeadm["from"], "download");
    assert_eq!(kubeadm["unverified"], true);
}

#[test]
fn pinned_artifacts_are_not_requested_again() {
    let server = Server::start(&[(KUBEADM, text("kubeadm"))]);
    let workspace = Workspace::new();
    workspace.lock_succeeds(&["--mirror", &server.url]);
    let (before, count) = (workspace.read("casement.lock"), server.requests().len());
    let result = workspace.lock_succeeds(&["--mirror", &server.url]);
    assert_eq!(result["written"], false);
    assert_eq!(server.requests().len(), count);
    let result = workspace.lock_succeeds(&["--mirror", &server.url, "--update"]);
    assert_eq!(
        result["written"], false,
        "the same hashes give the same file"
    );
    assert!(server.requests().len() > count);
    assert_eq!(workspace.read("casement.lock"), before);
}

#[test]
fn truncated_download_is_not_pinned() {
    let server = Server::start(&[(KUBEADM, Response::Truncated)]);
    let workspace = Workspace::new();
    let printed = workspace.lock_fails(&["--mirror", &server.url], 1);
    assert!(printed.contains("CAS-LOCK-006"), "{printed}");
    assert!(printed.contains("No file was written."), "{printed}");
    assert_eq!(workspace.names(), ["cluster.yaml"]);
}

#[test]
fn server_error_is_reported_with_its_status() {
    let checksum_path = format!("{KUBEADM}.sha256");
    let server = Server::start(&[
        (&checksum_path, Response::Status(503)),
        (KUBEADM, text("kubeadm")),
    ]);
    let workspace = Workspace::new();
    let printed = workspace.lock_fails(&["--mirror", &server.url], 1);
    for part in ["CAS-LOCK-006", "503", &checksum_path, "--mirror"] {
        assert!(printed.contains(part), "`{part}` is not in: {printed}");
    }
    assert_eq!(workspace.names(), ["cluster.yaml"]);
}

#[test]
fn html_page_in_place_of_a_checksum_is_reported() {
    let checksum_path = format!("{KUBEADM}.sha256");
    let server = Server::start(&[(&checksum_path, text("<html>sign in first</html>"))]);
    let printed = Workspace::new().lock_fails(&["--mirror", &server.url], 1);
    for part in ["CAS-LOCK-004", "kubeadm.exe", &checksum_path] {
        assert!(printed.contains(part), "`{part}` is not in: {printed}");
    }
}

#[test]
fn new_cluster_is_pinned_from_the_mirror_in_its_file() {
    let checksum = Sha256::of(b"x").to_string();
    let windows = format!("{KUBEADM}.sha256");
    let linux = |name: &str| format!("dl.k8s.io/v1.36.4/bin/linux/amd64/{name}.sha256");
    let [kubelet, kubeadm, kubectl] = ["kubelet", "kubeadm", "kubectl"].map(linux);
    let github = "github.com/containerd/containerd/releases/download/v2.3.4";
    let containerd = format!("{github}/containerd-2.3.4-linux-amd64.tar.gz.sha256sum");
    let cni = "github.com/containernetworking/plugins/releases/download/v1.9.1/cni-plugins-linux-amd64-v1.9.1.tgz.sha256";
    let runc = "github.com/opencontainers/runc/releases/download/v1.4.3/runc.sha256sum";
    let runc_checksums = format!(
        "{}  runc.arm64\n{checksum}  runc.amd64\n",
        Sha256::of(b"arm")
    );
    let server = Server::start(&[
        (&windows, text(&checksum)),
        (&kubelet, text(&checksum)),
        (&kubeadm, text(&checksum)),
        (&kubectl, text(&checksum)),
        (
            &containerd,
            text(&format!(
                "{checksum}  containerd-2.3.4-linux-amd64.tar.gz\n"
            )),
        ),
        (
            cni,
            text(&format!("{checksum}  cni-plugins-linux-amd64-v1.9.1.tgz\n")),
        ),
        (runc, text(&runc_checksums)),
    ]);
    let workspace = Workspace::new();
    let spec = format!(
        "apiVersion: casement.dev/v1alpha1\nkind: Cluster\nmetadata: {{name: shop}}\nspec:\n  \
         kubernetes: {{version: 1.36.4}}\n  network: {{mode: flannel-overlay}}\n  \
         artifacts: {{mirror: {}, lock: pins/shop.lock}}\n  hosts:\n    \
         - {{name: ubuntu01, address: 10.3.0.1, os: ubuntu-24.04, roles: [control-plane]}}\n    \
         - {{name: windows01, address: 10.3.0.4, os: windows-2022}}\n",
        server.url
    );
    workspace.put("cluster.yaml", &spec);
    workspace.put("pins/readme", "");
    let result = workspace.lock_succeeds(&[]);
    let names = result["artifacts"].as_array().unwrap().iter().map(|one| {
        let value = |field: &str| one[field].as_str().unwrap().to_owned();
        format!("{} {} {}", value("system"), value("name"), value("from"))
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    let expected = [
        "linux cni-plugins mirror",
        "linux containerd mirror",
        "linux kubeadm mirror",
        "linux kubectl mirror",
        "linux kubelet mirror",
        "linux runc mirror",
        "windows cni-plugins catalog",
        "windows containerd catalog",
        "windows flannel-cni catalog",
        "windows flanneld catalog",
        "windows kube-proxy catalog",
        "windows kubeadm mirror",
        "windows kubelet catalog",
    ];
    assert_eq!(names, expected);
    assert!(workspace.read("pins/shop.lock").contains("name = \"runc\""));
    assert_eq!(result["lock"], "pins/shop.lock");
}
