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
