//! What goes wrong, and what is told then.

use crate::place::{KUBEADM, Place};

#[test]
fn a_release_that_was_swapped_is_refused_and_the_file_kept() {
    let place = Place::new();
    place.put(&format!("mirror/{KUBEADM}"), "kubeadm");
    place.locked(&["--mirror", "mirror"]);
    let before = place.read("casement.lock");
    place.put(&format!("mirror/{KUBEADM}"), "somebody else's kubeadm");
    let said = place.refused(&["--mirror", "mirror", "--update"], 1);
    for word in ["CAS-LOCK-005", "kubeadm", "pinned", "now", "remedy"] {
        assert!(said.contains(word), "`{word}` is not in: {said}");
    }
    assert_eq!(place.read("casement.lock"), before);
}

#[test]
fn a_hash_that_the_catalog_contradicts_is_refused() {
    let place = Place::new();
    place.put(&format!("mirror/{KUBEADM}"), "kubeadm");
    place.locked(&["--mirror", "mirror"]);
    let forged = place
        .read("casement.lock")
        .replace("dbb90c2e2028", "000000000000");
    place.put("casement.lock", &forged);
    let said = place.refused(&["--mirror", "mirror"], 1);
    assert!(
        said.contains("CAS-LOCK-005") && said.contains("kubelet"),
        "{said}"
    );
}

#[test]
fn every_missing_download_is_told_at_once() {
    let place = Place::new();
    let spec = place.read("cluster.yaml").replace("1.36.4", "1.36.9");
    place.put("cluster.yaml", &spec);
    place.put("mirror/empty", "");
    let said = place.refused(&["--mirror", "mirror"], 1);
    for name in ["kubelet", "kubeadm", "kube-proxy"] {
        assert!(said.contains(&format!("`{name}` is not at ")), "{said}");
    }
    assert!(
        said.contains("3 of 5 artifacts could not be pinned"),
        "{said}"
    );
}

#[test]
fn a_file_that_is_no_lock_file_is_not_overwritten() {
    let place = Place::new();
    place.put("casement.lock", "version = 1\nsurprise = true\n");
    let said = place.refused(&["--update"], 1);
    for word in ["CAS-LOCK-001", "surprise", "casement.lock"] {
        assert!(said.contains(word), "`{word}` is not in: {said}");
    }
    place.put("casement.lock", "version = 99\n");
    let said = place.refused(&[], 1);
    assert!(
        said.contains("CAS-LOCK-002") && said.contains("99"),
        "{said}"
    );
    assert_eq!(place.read("casement.lock"), "version = 99\n");
}

#[test]
fn a_mirror_that_is_none_is_wrong_use() {
    let said = Place::new().refused(&["--mirror", "ftp://mirror"], 2);
    assert!(
        said.contains("CAS-LOCK-010") && said.contains("ftp://mirror"),
        "{said}"
    );
}

#[test]
fn a_place_that_cannot_be_written_is_told() {
    let place = Place::new();
    place.put(&format!("mirror/{KUBEADM}"), "kubeadm");
    let said = place.refused(&["--mirror", "mirror", "--out", "no/such/folder/x.lock"], 1);
    assert!(
        said.contains("CAS-LOCK-008") && said.contains("--out"),
        "{said}"
    );
}

#[test]
fn nobody_at_the_mirror_is_told_with_its_address() {
    // A port that was free a moment ago, and that nobody listens on.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let said = Place::new().refused(&["--mirror", &url], 1);
    assert!(
        said.contains("CAS-LOCK-006") && said.contains(&url),
        "{said}"
    );
}
