//! Programs that are downloaded: pinned, fetched once, verified and sent to hosts. One
//! web server stands for all download sites.

use casement_resource::Sha256;

use crate::command::{combined_output, run};
use crate::mirror::mirror_content;
use crate::mirror_fixture::MirrorFixture;
use crate::mirror_server::MirrorServer;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pinned_programs_are_fetched_once_and_installed() {
    let fixture = MirrorFixture::start().await;
    fixture
        .apply_fails(
            &[],
            &["CAS-LOCK-012", "kubelet: not pinned", "casement lock"],
        )
        .await;
    fixture.pin().await;
    fixture
        .apply_fails(
            &[],
            &["CAS-LOCK-012", "kubeadm: unverified", "--accept-unverified"],
        )
        .await;
    fixture.mirror.clear_requests();
    let printed = fixture.apply_succeeds(&["--accept-unverified"]).await;
    assert!(printed.contains("windows1 is Ready"), "{printed}");
    assert!(printed.contains("downloaded kubelet"), "{printed}");
    let mut requests = fixture.mirror.requests();
    requests.sort();
    let count = requests.len();
    requests.dedup();
    assert_eq!(
        (requests.len(), count),
        (5, 5),
        "each file once: {requests:?}"
    );

    // The unverified hashes are accepted now, and everything is in the cache.
    fixture.mirror.stop();
    let printed = fixture.apply_succeeds(&[]).await;
    assert!(printed.contains("No changes: "), "{printed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn download_with_wrong_hash_is_not_installed() {
    let fixture = MirrorFixture::start().await;
    fixture.pin().await;
    let text = std::fs::read_to_string(fixture.path("casement.lock")).unwrap();
    let actual = Sha256::of(&fixture.mirror.content("x/kubelet.exe").unwrap()).to_string();
    let other = Sha256::of(b"another kubelet").to_string();
    std::fs::write(fixture.path("casement.lock"), text.replace(&actual, &other)).unwrap();
    let expected = ["CAS-LOCK-013", "kubelet", actual.as_str(), other.as_str()];
    fixture
        .apply_fails(&["--accept-unverified"], &expected)
        .await;
    let kept = std::fs::read_dir(fixture.path("cache")).unwrap().flatten();
    let kept: Vec<_> = kept.map(|entry| entry.file_name()).collect();
    assert!(!kept.iter().any(|name| *name == *other), "{kept:?}");

    // A file that was changed in the cache is fetched again.
    std::fs::write(fixture.path("casement.lock"), text).unwrap();
    std::fs::write(fixture.path("cache").join(&actual), "changed").unwrap();
    fixture.apply_succeeds(&["--accept-unverified"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interrupted_download_is_resumed() {
    let fixture = MirrorFixture::start().await;
    fixture.pin().await;
    fixture.mirror.clear_requests();
    fixture.mirror.truncate_next("kubelet.exe", 10);
    fixture
        .apply_fails(
            &["--accept-unverified"],
            &["CAS-LOCK-006", "kubelet", "HTTPS_PROXY"],
        )
        .await;
    fixture.apply_succeeds(&[]).await;
    assert_eq!(fixture.mirror.ranges(), ["bytes=10-"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mirror_can_be_a_folder() {
    let fixture = MirrorFixture::start().await;
    fixture.pin().await;
    let text = std::fs::read_to_string(fixture.path("casement.lock")).unwrap();
    for line in text.lines().filter_map(|line| line.strip_prefix("url = ")) {
        let (_, path) = line.trim_matches('"').split_once("://").unwrap();
        let file = fixture.path("mirror").join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, fixture.mirror.content(path).unwrap()).unwrap();
    }
    fixture.mirror.stop();
    let printed = fixture
        .apply_succeeds(&["--accept-unverified", "--mirror", "mirror"])
        .await;
    // Hosts cannot reach a folder of the controller.
    assert!(printed.contains("uploading files"), "{printed}");
    assert!(!printed.contains("pulled"), "{printed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn proxy_and_custom_ca_are_used() {
    let fixture = MirrorFixture::start().await;
    fixture.pin().await;
    // A name that does not resolve: only the proxy knows it.
    let args = [
        "apply",
        "--yes",
        "--agent-dir",
        "agent",
        "--accept-unverified",
    ];
    let mut proxied = fixture.command(&args);
    proxied.args(["--mirror", "http://mirror.invalid"]);
    proxied.env("HTTP_PROXY", &fixture.mirror.url);
    fixture.mirror.clear_requests();
    let output = run(proxied).await;
    assert!(output.status.success(), "{}", combined_output(&output));
    let requests = fixture.mirror.requests();
    assert!(
        requests
            .iter()
            .all(|path| path.starts_with("http://mirror.invalid/"))
            && requests.len() == 5,
        "{requests:?}"
    );

    let fixture = MirrorFixture::start().await;
    fixture.pin().await;
    let secure = MirrorServer::start_with_tls(
        mirror_content(&fixture.base.cluster),
        &fixture.path("ca.pem"),
    );
    let mirror = ["--accept-unverified", "--mirror", &secure.url];
    fixture
        .apply_fails(&mirror, &["CAS-LOCK-006", "certificate", "SSL_CERT_FILE"])
        .await;
    let mut trusted = fixture.command(&args);
    trusted.args(["--mirror", &secure.url]);
    trusted.env("SSL_CERT_FILE", fixture.path("ca.pem"));
    let output = run(trusted).await;
    assert!(output.status.success(), "{}", combined_output(&output));
}
