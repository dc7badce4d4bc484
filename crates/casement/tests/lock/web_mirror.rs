//! A mirror on the web.

use casement_resource::Sha256;

use crate::place::{KUBEADM, Place, artifact};
use crate::server::{Answer, Server};

fn text(text: &str) -> Answer {
    Answer::Text(text.to_owned())
}

#[test]
fn the_sum_beside_a_download_is_taken_and_the_download_left_alone() {
    let sums = format!("{KUBEADM}.sha256");
    let sum = Sha256::of(b"kubeadm").to_string();
    let server = Server::start(&[(&sums, text(&sum)), (KUBEADM, text("kubeadm"))]);
    let place = Place::new();
    let said = place.locked(&["--mirror", &server.url]);
    let kubeadm = artifact(&said, "kubeadm");
    assert_eq!(kubeadm["sha256"], sum);
    assert_eq!(kubeadm["from"], "mirror");
    assert_eq!(kubeadm["unverified"], true);
    assert_eq!(kubeadm["source"], format!("{}/{sums}", server.url));
    assert_eq!(artifact(&said, "kubelet")["from"], "catalog");
    assert_eq!(server.asked(), [format!("/{sums}")]);
}

#[test]
fn without_a_sum_the_download_is_hashed_even_through_a_redirect() {
    let server = Server::start(&[
        (KUBEADM, Answer::Moved("/store/kubeadm".to_owned())),
        ("store/kubeadm", text("kubeadm")),
    ]);
    let place = Place::new();
    let said = place.locked(&["--mirror", &server.url]);
    let kubeadm = artifact(&said, "kubeadm");
    assert_eq!(kubeadm["sha256"], Sha256::of(b"kubeadm").to_string());
    assert_eq!(kubeadm["from"], "download");
    assert_eq!(kubeadm["unverified"], true);
}

#[test]
fn what_is_pinned_is_not_asked_for_again() {
    let server = Server::start(&[(KUBEADM, text("kubeadm"))]);
    let place = Place::new();
    place.locked(&["--mirror", &server.url]);
    let (before, asked) = (place.read("casement.lock"), server.asked().len());
    let said = place.locked(&["--mirror", &server.url]);
    assert_eq!(said["written"], false);
    assert_eq!(server.asked().len(), asked);
    let said = place.locked(&["--mirror", &server.url, "--update"]);
    assert_eq!(said["written"], false, "the same answer is the same file");
    assert!(server.asked().len() > asked);
    assert_eq!(place.read("casement.lock"), before);
}

#[test]
fn a_broken_download_is_no_hash() {
    let server = Server::start(&[(KUBEADM, Answer::Broken)]);
    let place = Place::new();
    let said = place.refused(&["--mirror", &server.url], 1);
    assert!(said.contains("CAS-LOCK-006"), "{said}");
    assert!(said.contains("nothing was written"), "{said}");
    assert_eq!(place.names(), ["cluster.yaml"]);
}

#[test]
fn a_server_that_fails_is_told_with_its_answer() {
    let sums = format!("{KUBEADM}.sha256");
    let server = Server::start(&[(&sums, Answer::Status(503)), (KUBEADM, text("kubeadm"))]);
    let place = Place::new();
    let said = place.refused(&["--mirror", &server.url], 1);
    for word in ["CAS-LOCK-006", "503", &sums, "--mirror"] {
        assert!(said.contains(word), "`{word}` is not in: {said}");
    }
    assert_eq!(place.names(), ["cluster.yaml"]);
}

#[test]
fn a_page_in_place_of_a_sum_is_told() {
    let sums = format!("{KUBEADM}.sha256");
    let server = Server::start(&[(&sums, text("<html>sign in first</html>"))]);
    let said = Place::new().refused(&["--mirror", &server.url], 1);
    for word in ["CAS-LOCK-004", "kubeadm.exe", &sums] {
        assert!(said.contains(word), "`{word}` is not in: {said}");
    }
}

#[test]
fn a_cluster_from_nothing_is_pinned_from_the_mirror_that_its_file_names() {
    let sum = Sha256::of(b"x").to_string();
    let windows = format!("{KUBEADM}.sha256");
    let linux = |name: &str| format!("dl.k8s.io/v1.36.4/bin/linux/amd64/{name}.sha256");
    let [kubelet, kubeadm, kubectl] = ["kubelet", "kubeadm", "kubectl"].map(linux);
    let github = "github.com/containerd/containerd/releases/download/v2.3.4";
    let containerd = format!("{github}/containerd-2.3.4-linux-amd64.tar.gz.sha256sum");
    let cni = "github.com/containernetworking/plugins/releases/download/v1.9.1/cni-plugins-linux-amd64-v1.9.1.tgz.sha256";
    let runc = "github.com/opencontainers/runc/releases/download/v1.4.3/runc.sha256sum";
    let runcs = format!("{}  runc.arm64\n{sum}  runc.amd64\n", Sha256::of(b"arm"));
    let server = Server::start(&[
        (&windows, text(&sum)),
        (&kubelet, text(&sum)),
        (&kubeadm, text(&sum)),
        (&kubectl, text(&sum)),
        (
            &containerd,
            text(&format!("{sum}  containerd-2.3.4-linux-amd64.tar.gz\n")),
        ),
        (
            cni,
            text(&format!("{sum}  cni-plugins-linux-amd64-v1.9.1.tgz\n")),
        ),
        (runc, text(&runcs)),
    ]);
    let place = Place::new();
    let spec = format!(
        "apiVersion: casement.dev/v1alpha1\nkind: Cluster\nmetadata: {{name: shop}}\nspec:\n  \
         kubernetes: {{version: 1.36.4}}\n  network: {{mode: flannel-overlay}}\n  \
         artifacts: {{mirror: {}, lock: pins/shop.lock}}\n  hosts:\n    \
         - {{name: ubuntu01, address: 10.3.0.1, os: ubuntu-24.04, roles: [control-plane]}}\n    \
         - {{name: windows01, address: 10.3.0.4, os: windows-2022}}\n",
        server.url
    );
    place.put("cluster.yaml", &spec);
    place.put("pins/readme", "");
    let said = place.locked(&[]);
    let names = said["artifacts"].as_array().unwrap().iter().map(|one| {
        let word = |field: &str| one[field].as_str().unwrap().to_owned();
        format!("{} {} {}", word("system"), word("name"), word("from"))
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
    assert!(place.read("pins/shop.lock").contains("name = \"runc\""));
    assert_eq!(said["lock"], "pins/shop.lock");
}
