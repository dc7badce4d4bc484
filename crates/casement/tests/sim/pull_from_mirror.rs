//! Hosts pull their programs from the mirror; what they cannot pull is sent to them.

use std::path::Path;

use casement_node::sim::Faults;
use casement_resource::Sha256;

use crate::command::{combined_output, run};
use crate::mirror_fixture::MirrorFixture;

const DOWNLOADS: [&str; 5] = [
    "cni-plugins",
    "containerd",
    "kube-proxy",
    "kubeadm",
    "kubelet",
];

impl MirrorFixture {
    /// Fills the controller's cache without changing a host.
    async fn fetch(&self) {
        let args = ["plan", "--agent-dir", "agent", "--accept-unverified"];
        let output = run(self.command(&args)).await;
        assert!(output.status.success(), "{}", combined_output(&output));
        self.mirror.clear_requests();
    }

    /// The names in a host's blob store.
    fn stored_blobs(&self, host: &str) -> Vec<String> {
        let host = self.base.cluster.host(host).unwrap();
        let store = host.console().disk().join("ProgramData/casement/blobs");
        let names = std::fs::read_dir(store).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }
}

/// The output line about a host's pulls.
fn pull_line<'a>(printed: &'a str, host: &str) -> &'a str {
    let about = format!(" {host}: pulled ");
    let line = printed.lines().find(|line| line.contains(&about));
    line.unwrap_or_else(|| panic!("no pull of {host} in: {printed}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_pull_everything_from_the_mirror() {
    let fixture = MirrorFixture::start_with_hosts(3).await;
    fixture.pin().await;
    fixture.mirror.clear_requests();
    let printed = fixture.apply_succeeds(&["--accept-unverified"]).await;
    for host in ["windows1", "windows2", "windows3"] {
        let line = pull_line(&printed, host);
        assert!(line.ends_with(" from the mirror, uploaded 0 kB"), "{line}");
        let store = fixture.stored_blobs(host);
        assert_eq!(store.len(), 7, "programs, and no archive: {store:?}");
    }
    assert!(!printed.contains("uploading files"), "{printed}");
    assert_eq!(
        fixture.mirror.requests().len(),
        5,
        "the controller fetches each file once"
    );
    let mut host_requests = fixture.mirror.host_requests();
    assert_eq!(
        host_requests.len(),
        15,
        "each host pulls each file once: {host_requests:?}"
    );
    host_requests.sort();
    host_requests.dedup();
    assert_eq!(host_requests.len(), 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interrupted_pull_is_resumed() {
    let fixture = MirrorFixture::start().await;
    fixture.pin().await;
    fixture.fetch().await;
    fixture.mirror.truncate_next("kubelet.exe", 10);
    let printed = fixture.apply_succeeds(&[]).await;
    assert!(pull_line(&printed, "windows1").ends_with("uploaded 0 kB"));
    assert_eq!(fixture.mirror.ranges(), ["bytes=10-"]);
    assert_eq!(
        fixture.mirror.requests(),
        [] as [&str; 0],
        "everything is in the cache"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn file_missing_from_the_mirror_is_sent() {
    let fixture = MirrorFixture::start().await;
    fixture.pin().await;
    fixture.fetch().await;
    fixture.mirror.stop();
    let printed = fixture.apply_succeeds(&[]).await;
    for name in DOWNLOADS {
        let reason = format!("windows1: {name}: pull failed, uploading instead: http://");
        let line = printed.lines().find(|line| line.contains(&reason));
        let line = line.unwrap_or_else(|| panic!("{name} in {printed}"));
        assert!(
            line.ends_with(": download failed: HTTP status 404 [CAS-NODE-020]"),
            "{line}"
        );
    }
    assert!(printed.contains("windows1: uploading files"), "{printed}");
    assert_eq!(fixture.stored_blobs("windows1").len(), 7);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pulled_file_with_wrong_hash_is_rejected_and_sent() {
    let fixture = MirrorFixture::start().await;
    fixture.pin().await;
    fixture.fetch().await;
    fixture.mirror.corrupt_for_hosts("kubelet.exe");
    let printed = fixture.apply_succeeds(&[]).await;
    let correct = fixture.mirror.content("x/kubelet.exe").unwrap();
    let wrong: Vec<u8> = correct.iter().map(|byte| byte ^ 1).collect();
    let line = printed
        .lines()
        .find(|line| line.contains("kubelet: pull failed"));
    let line = line.unwrap_or_else(|| panic!("{printed}"));
    for hash in [Sha256::of(&correct), Sha256::of(&wrong)] {
        assert!(line.contains(&hash.to_string()), "{hash} in {line}");
    }
    assert!(line.ends_with(" [CAS-NODE-006]"), "{line}");
    let line = pull_line(&printed, "windows1");
    assert!(line.ends_with("from the mirror, uploaded 1 kB"), "{line}");
    assert_eq!(fixture.stored_blobs("windows1").len(), 7);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn host_that_cannot_reach_the_mirror_is_sent_everything() {
    let fixture = MirrorFixture::start_with_hosts(2).await;
    fixture.pin().await;
    let host = fixture.base.cluster.host("windows1").unwrap();
    host.sim().set_faults(Faults {
        failing: Some("download".to_owned()),
        ..Faults::default()
    });
    let printed = fixture.apply_succeeds(&["--accept-unverified"]).await;
    let reason = "is not reachable from this host: network unreachable [CAS-NODE-021]";
    let lines: Vec<&str> = printed
        .lines()
        .filter(|line| line.ends_with(reason))
        .collect();
    let [line] = lines.as_slice() else {
        panic!("expected one attempt and one message: {printed}");
    };
    assert!(line.contains(" windows1: "), "{line}");
    for name in DOWNLOADS {
        assert!(line.contains(name), "{name} in {line}");
    }
    assert!(pull_line(&printed, "windows2").ends_with("uploaded 0 kB"));
    assert!(
        printed.contains("windows1 and windows2 are Ready"),
        "{printed}"
    );
}

fn contains_text(folder: &Path, text: &str) -> bool {
    std::fs::read_dir(folder).unwrap().flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return contains_text(&path, text);
        }
        let bytes = std::fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&bytes).contains(text)
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mirror_password_is_used_and_not_stored() {
    let fixture = MirrorFixture::start().await;
    fixture.pin().await;
    let mirror = fixture.mirror.url.replace("://", "://anna:geheim@");
    let printed = fixture
        .apply_succeeds(&["--accept-unverified", "--mirror", &mirror, "-v"])
        .await;
    assert!(pull_line(&printed, "windows1").ends_with("uploaded 0 kB"));
    assert!(!printed.contains("geheim"), "{printed}");
    assert!(printed.contains("anna:********@127.0.0.1"), "{printed}");
    let authorizations = fixture.mirror.authorizations();
    assert_eq!(authorizations.len(), 10, "{authorizations:?}");
    let host = fixture.base.cluster.host("windows1").unwrap();
    assert!(!contains_text(&fixture.path(""), "geheim"));
    assert!(!format!("{:?}", host.sim().world()).contains("geheim"));
}
