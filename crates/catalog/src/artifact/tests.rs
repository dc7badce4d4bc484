use super::*;

#[test]
fn urls_match_the_publishers() {
    let kubelet = artifact("kubelet", System::Windows).unwrap();
    assert_eq!(
        kubelet.url_of("1.36.4"),
        "https://dl.k8s.io/v1.36.4/bin/windows/amd64/kubelet.exe"
    );
    assert_eq!(
        kubelet.sums_url("1.36.4").as_deref(),
        Some("https://dl.k8s.io/v1.36.4/bin/windows/amd64/kubelet.exe.sha256")
    );
    let containerd = artifact("containerd", System::Windows).unwrap();
    assert_eq!(
        containerd.sums_url("2.3.4").as_deref(),
        Some(
            "https://github.com/containerd/containerd/releases/download/v2.3.4/containerd-2.3.4-windows-amd64.tar.gz.sha256sum"
        )
    );
    let runc = artifact("runc", System::Linux).unwrap();
    assert_eq!(
        runc.sums_url("1.4.3").as_deref(),
        Some("https://github.com/opencontainers/runc/releases/download/v1.4.3/runc.sha256sum")
    );
    let flanneld = artifact("flanneld", System::Windows).unwrap();
    assert_eq!(flanneld.sums_url("0.28.9"), None);
}

#[test]
fn every_artifact_has_a_version_for_every_release() {
    for minor in Minor::covered() {
        let kubernetes = Version::new(1, minor.number().into(), 2);
        for artifact in ARTIFACTS {
            let version = artifact.version_for(&kubernetes);
            assert!(version.is_some(), "{} of {minor}", artifact.name);
        }
        let crictl = artifact("crictl", System::Linux).unwrap();
        assert_eq!(crictl.version_for(&kubernetes), Some(format!("{minor}.0")));
    }
}

#[test]
fn names_are_unique_and_urls_have_a_version() {
    for (at, artifact) in ARTIFACTS.iter().enumerate() {
        let mut rest = ARTIFACTS.iter().skip(at + 1);
        let same =
            |other: &Artifact| (other.name, other.system) == (artifact.name, artifact.system);
        assert!(
            !rest.any(same),
            "{} of {} twice",
            artifact.name,
            artifact.system
        );
        assert!(artifact.url.starts_with("https://") && artifact.url.contains("{version}"));
        assert!(!artifact.programs.is_empty());
    }
}

#[test]
fn known_hashes_are_unique_and_belong_to_artifacts() {
    for (at, hash) in HASHES.iter().enumerate() {
        assert!(artifact(hash.name, hash.system).is_some(), "{}", hash.name);
        let digits = hash
            .sha256
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        assert!(digits && hash.sha256.len() == 64, "{}", hash.name);
        let mut rest = HASHES.iter().skip(at + 1);
        assert!(rest.all(|other| other.sha256 != hash.sha256));
    }
}

#[test]
fn default_windows_artifacts_have_known_hashes_except_these() {
    let without: Vec<_> = ARTIFACTS
        .iter()
        .filter(|artifact| artifact.system == System::Windows)
        .filter(|artifact| {
            let version = artifact.version_for(&Version::new(1, 36, 4)).unwrap();
            known_hash(artifact.name, artifact.system, &version).is_none()
        })
        .map(|artifact| artifact.name)
        .collect();
    let expected = [
        "kubeadm",
        "kube-log-runner",
        "windows-container-networking",
        "docker",
        "cri-dockerd",
    ];
    assert_eq!(without, expected);
}
