//! Failures of `casement lock` and their messages.

use crate::workspace::{KUBEADM, Workspace};

#[test]
fn replaced_release_is_rejected_and_the_lock_file_kept() {
    let workspace = Workspace::new();
    workspace.put(&format!("mirror/{KUBEADM}"), "kubeadm");
    workspace.lock_succeeds(&["--mirror", "mirror"]);
    let before = workspace.read("casement.lock");
    workspace.put(&format!("mirror/{KUBEADM}"), "another kubeadm");
    let printed = workspace.lock_fails(&["--mirror", "mirror", "--update"], 1);
    for part in ["CAS-LOCK-005", "kubeadm", "pinned", "now", "\n  help "] {
        assert!(printed.contains(part), "`{part}` is not in: {printed}");
    }
    assert_eq!(workspace.read("casement.lock"), before);
}

#[test]
fn hash_that_contradicts_the_catalog_is_rejected() {
    let workspace = Workspace::new();
    workspace.put(&format!("mirror/{KUBEADM}"), "kubeadm");
    workspace.lock_succeeds(&["--mirror", "mirror"]);
    let forged = workspace
        .read("casement.lock")
        .replace("dbb90c2e2028", "000000000000");
    workspace.put("casement.lock", &forged);
    let printed = workspace.lock_fails(&["--mirror", "mirror"], 1);
    assert!(
        printed.contains("CAS-LOCK-005") && printed.contains("kubelet"),
        "{printed}"
    );
}

#[test]
fn all_missing_downloads_are_reported_at_once() {
    let workspace = Workspace::new();
    let spec = workspace.read("cluster.yaml").replace("1.36.4", "1.36.9");
    workspace.put("cluster.yaml", &spec);
    workspace.put("mirror/empty", "");
    let printed = workspace.lock_fails(&["--mirror", "mirror"], 1);
    for name in ["kubelet", "kubeadm", "kube-proxy"] {
        assert!(
            printed.contains(&format!("`{name}` not found at ")),
            "{printed}"
        );
    }
    assert!(
        printed.contains("Failed to pin 3 of 5 artifacts"),
        "{printed}"
    );
}

#[test]
fn invalid_lock_file_is_not_overwritten() {
    let workspace = Workspace::new();
    workspace.put("casement.lock", "version = 1\nsurprise = true\n");
    let printed = workspace.lock_fails(&["--update"], 1);
    for part in [
        "CAS-LOCK-001",
        "surprise",
        "casement.lock",
        "delete it and run `casement lock`",
    ] {
        assert!(printed.contains(part), "`{part}` is not in: {printed}");
    }
    workspace.put("casement.lock", "version = 99\n");
    let printed = workspace.lock_fails(&[], 1);
    assert!(
        printed.contains("CAS-LOCK-002") && printed.contains("99"),
        "{printed}"
    );
    assert_eq!(workspace.read("casement.lock"), "version = 99\n");
}

#[test]
fn invalid_mirror_is_a_usage_error() {
    let printed = Workspace::new().lock_fails(&["--mirror", "ftp://mirror"], 2);
    assert!(
        printed.contains("CAS-LOCK-010") && printed.contains("ftp://mirror"),
        "{printed}"
    );
}

#[test]
fn unwritable_lock_file_is_reported() {
    let workspace = Workspace::new();
    workspace.put(&format!("mirror/{KUBEADM}"), "kubeadm");
    let printed =
        workspace.lock_fails(&["--mirror", "mirror", "--out", "no/such/folder/x.lock"], 1);
    assert!(
        printed.contains("CAS-LOCK-008") && printed.contains("--out"),
        "{printed}"
    );
}

#[test]
fn unreachable_mirror_is_reported_with_its_url() {
    // A port that was just free: nothing listens on it.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let printed = Workspace::new().lock_fails(&["--mirror", &url], 1);
    assert!(
        printed.contains("CAS-LOCK-006") && printed.contains(&url),
        "{printed}"
    );
}
