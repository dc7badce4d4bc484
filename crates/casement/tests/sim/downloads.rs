//! Programs that nobody gave as files: pinned, fetched once, checked, and brought to
//! hosts. A web server of the test stands for all publishers.

use casement_resource::Sha256;

use crate::mirror::published_for;
use crate::publisher::Publisher;
use crate::shop::Shop;
use crate::typed::{run, said};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_are_made_of_what_the_lock_file_pins_and_each_is_fetched_once() {
    let shop = Shop::open().await;
    shop.refused(
        &[],
        &["CAS-LOCK-012", "kubelet: not pinned", "casement lock"],
    )
    .await;
    shop.pin().await;
    shop.refused(
        &[],
        &["CAS-LOCK-012", "kubeadm: unverified", "--accept-unverified"],
    )
    .await;
    shop.publisher.forget();
    let said = shop.joined(&["--accept-unverified"]).await;
    assert!(said.contains("windows1 is Ready"), "{said}");
    assert!(said.contains("fetched kubelet"), "{said}");
    let mut asked = shop.publisher.asked();
    asked.sort();
    let count = asked.len();
    asked.dedup();
    assert_eq!((asked.len(), count), (5, 5), "once each: {asked:?}");

    // It has been accepted, and nothing has to be fetched again.
    shop.publisher.stop();
    let said = shop.joined(&[]).await;
    assert!(said.contains("Nothing to do"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_what_was_pinned_goes_nowhere() {
    let shop = Shop::open().await;
    shop.pin().await;
    let text = std::fs::read_to_string(shop.at("casement.lock")).unwrap();
    let real = Sha256::of(&shop.publisher.has("x/kubelet.exe").unwrap()).to_string();
    let other = Sha256::of(b"another kubelet").to_string();
    std::fs::write(shop.at("casement.lock"), text.replace(&real, &other)).unwrap();
    let told = ["CAS-LOCK-013", "kubelet", real.as_str(), other.as_str()];
    shop.refused(&["--accept-unverified"], &told).await;
    let kept = std::fs::read_dir(shop.at("cache")).unwrap().flatten();
    let kept: Vec<_> = kept.map(|entry| entry.file_name()).collect();
    assert!(!kept.iter().any(|name| *name == *other), "{kept:?}");

    // One that was right, and was changed in the cache.
    std::fs::write(shop.at("casement.lock"), text).unwrap();
    std::fs::write(shop.at("cache").join(&real), "changed").unwrap();
    shop.joined(&["--accept-unverified"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_download_that_broke_off_is_gone_on_with() {
    let shop = Shop::open().await;
    shop.pin().await;
    shop.publisher.forget();
    shop.publisher.break_off("kubelet.exe", 10);
    shop.refused(
        &["--accept-unverified"],
        &["CAS-LOCK-006", "kubelet", "HTTPS_PROXY"],
    )
    .await;
    shop.joined(&[]).await;
    assert_eq!(shop.publisher.ranges(), ["bytes=10-"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mirror_may_be_a_folder() {
    let shop = Shop::open().await;
    shop.pin().await;
    let text = std::fs::read_to_string(shop.at("casement.lock")).unwrap();
    for line in text.lines().filter_map(|line| line.strip_prefix("url = ")) {
        let (_, path) = line.trim_matches('"').split_once("://").unwrap();
        let file = shop.at("mirror").join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, shop.publisher.has(path).unwrap()).unwrap();
    }
    shop.publisher.stop();
    let said = shop
        .joined(&["--accept-unverified", "--mirror", "mirror"])
        .await;
    // Hosts cannot reach it, and nobody expects them to.
    assert!(said.contains("brings files"), "{said}");
    assert!(!said.contains("pulled"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_and_a_certificate_authority_of_one_s_own_are_honoured() {
    let shop = Shop::open().await;
    shop.pin().await;
    // A name that nobody could look up: only the proxy knows it.
    let words = [
        "apply",
        "--yes",
        "--agent-dir",
        "agent",
        "--accept-unverified",
    ];
    let mut through = shop.casement(&words);
    through.args(["--mirror", "http://mirror.invalid"]);
    through.env("HTTP_PROXY", &shop.publisher.url);
    shop.publisher.forget();
    let output = run(through).await;
    assert!(output.status.success(), "{}", said(&output));
    let asked = shop.publisher.asked();
    assert!(
        asked
            .iter()
            .all(|path| path.starts_with("http://mirror.invalid/"))
            && asked.len() == 5,
        "{asked:?}"
    );

    let shop = Shop::open().await;
    shop.pin().await;
    let secure = Publisher::start_with_tls(published_for(&shop.ground.cluster), &shop.at("ca.pem"));
    let mirror = ["--accept-unverified", "--mirror", &secure.url];
    shop.refused(&mirror, &["CAS-LOCK-006", "certificate", "SSL_CERT_FILE"])
        .await;
    let mut trusted = shop.casement(&words);
    trusted.args(["--mirror", &secure.url]);
    trusted.env("SSL_CERT_FILE", shop.at("ca.pem"));
    let output = run(trusted).await;
    assert!(output.status.success(), "{}", said(&output));
}
