//! Hosts that fetch their programs from the mirror themselves, and what becomes of
//! those that cannot.

use std::path::Path;

use casement_node::sim::Faults;
use casement_resource::Sha256;

use crate::shop::Shop;
use crate::typed::{run, said};

/// The downloads of a Windows host.
const DOWNLOADS: [&str; 5] = [
    "cni-plugins",
    "containerd",
    "kube-proxy",
    "kubeadm",
    "kubelet",
];

impl Shop {
    /// Everything is in the cache of this machine, and nothing on a host.
    async fn fetch(&self) {
        let words = ["plan", "--agent-dir", "agent", "--accept-unverified"];
        let output = run(self.casement(&words)).await;
        assert!(output.status.success(), "{}", said(&output));
        self.publisher.forget();
    }

    /// The names in a host's store.
    fn store(&self, host: &str) -> Vec<String> {
        let host = self.ground.cluster.host(host).unwrap();
        let store = host.console().disk().join("ProgramData/casement/blobs");
        let names = std::fs::read_dir(store).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }
}

/// The line of a host about what it was brought.
fn brought<'a>(said: &'a str, host: &str) -> &'a str {
    let about = format!(" {host}: pulled ");
    let line = said.lines().find(|line| line.contains(&about));
    line.unwrap_or_else(|| panic!("{host} has pulled nothing: {said}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_pull_and_nothing_is_sent_to_them() {
    let shop = Shop::with_hosts(3).await;
    shop.pin().await;
    shop.publisher.forget();
    let said = shop.joined(&["--accept-unverified"]).await;
    for host in ["windows1", "windows2", "windows3"] {
        let line = brought(&said, host);
        assert!(line.ends_with(" from the mirror, 0 kB were sent"), "{line}");
        let store = shop.store(host);
        assert_eq!(store.len(), 7, "programs, and no archive: {store:?}");
    }
    assert!(!said.contains("brings files"), "{said}");
    assert_eq!(shop.publisher.asked().len(), 5, "the controller, once each");
    let mut by_hosts = shop.publisher.asked_by_hosts();
    assert_eq!(by_hosts.len(), 15, "each host, once each: {by_hosts:?}");
    by_hosts.sort();
    by_hosts.dedup();
    assert_eq!(by_hosts.len(), 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pull_that_breaks_off_is_gone_on_with() {
    let shop = Shop::open().await;
    shop.pin().await;
    shop.fetch().await;
    shop.publisher.break_off("kubelet.exe", 10);
    let said = shop.joined(&[]).await;
    assert!(brought(&said, "windows1").ends_with("0 kB were sent"));
    assert_eq!(shop.publisher.ranges(), ["bytes=10-"]);
    assert_eq!(shop.publisher.asked(), [] as [&str; 0], "all was fetched");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_mirror_does_not_have_any_more_is_sent() {
    let shop = Shop::open().await;
    shop.pin().await;
    shop.fetch().await;
    shop.publisher.stop();
    let said = shop.joined(&[]).await;
    for name in DOWNLOADS {
        let why = format!("windows1: {name} is sent, not pulled: http://");
        let line = said.lines().find(|line| line.contains(&why));
        let line = line.unwrap_or_else(|| panic!("{name} in {said}"));
        assert!(line.ends_with(" did not come: it answers 404"), "{line}");
    }
    assert!(said.contains("windows1: brings files"), "{said}");
    assert_eq!(shop.store("windows1").len(), 7);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_what_was_pinned_is_refused_by_the_host_and_sent() {
    let shop = Shop::open().await;
    shop.pin().await;
    shop.fetch().await;
    shop.publisher.lie_to_hosts("kubelet.exe");
    let said = shop.joined(&[]).await;
    let right = shop.publisher.has("x/kubelet.exe").unwrap();
    let wrong: Vec<u8> = right.iter().map(|byte| byte ^ 1).collect();
    let line = said.lines().find(|line| line.contains("kubelet is sent"));
    let line = line.unwrap_or_else(|| panic!("{said}"));
    for hash in [Sha256::of(&right), Sha256::of(&wrong)] {
        assert!(line.contains(&hash.to_string()), "{hash} in {line}");
    }
    let line = brought(&said, "windows1");
    assert!(line.ends_with("from the mirror, 1 kB were sent"), "{line}");
    assert_eq!(shop.store("windows1").len(), 7);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_cannot_reach_the_mirror_is_sent_everything() {
    let shop = Shop::with_hosts(2).await;
    shop.pin().await;
    let host = shop.ground.cluster.host("windows1").unwrap();
    host.sim().set_faults(Faults {
        failing: Some("download".to_owned()),
        ..Faults::default()
    });
    let said = shop.joined(&["--accept-unverified"]).await;
    let why = "cannot be fetched from this host: there is no way there";
    let lines: Vec<&str> = said.lines().filter(|line| line.ends_with(why)).collect();
    let [line] = lines.as_slice() else {
        panic!("it is asked for once, and said once: {said}");
    };
    assert!(line.contains(" windows1: "), "{line}");
    for name in DOWNLOADS {
        assert!(line.contains(name), "{name} in {line}");
    }
    assert!(brought(&said, "windows2").ends_with("0 kB were sent"));
    assert!(said.contains("windows1 and windows2 are Ready"), "{said}");
}

fn holds(folder: &Path, text: &str) -> bool {
    std::fs::read_dir(folder).unwrap().flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return holds(&path, text);
        }
        let bytes = std::fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&bytes).contains(text)
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_of_the_mirror_is_used_and_kept_nowhere() {
    let shop = Shop::open().await;
    shop.pin().await;
    let mirror = shop.publisher.url.replace("://", "://anna:geheim@");
    let said = shop
        .joined(&["--accept-unverified", "--mirror", &mirror, "-v"])
        .await;
    assert!(brought(&said, "windows1").ends_with("0 kB were sent"));
    assert!(!said.contains("geheim"), "{said}");
    assert!(said.contains("anna:********@127.0.0.1"), "{said}");
    let accounts = shop.publisher.accounts();
    assert_eq!(accounts.len(), 10, "{accounts:?}");
    let host = shop.ground.cluster.host("windows1").unwrap();
    assert!(!holds(&shop.at(""), "geheim"));
    assert!(!format!("{:?}", host.sim().world()).contains("geheim"));
}
