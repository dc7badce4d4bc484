//! Programs that nobody gave as files: pinned, fetched once, checked, and brought to
//! hosts. A web server of the test stands for all publishers.

use std::path::PathBuf;
use std::process::{Command, Output};

use casement_lab::sim::stand_in;
use casement_resource::Sha256;

use crate::ground::Ground;
use crate::publisher::Publisher;
use crate::typed::{run, said};

/// What publishers have at a path, for one release of Kubernetes.
fn published(path: &str, version: &str) -> Option<Vec<u8>> {
    let program = |name: &str| stand_in(name, version).into_bytes();
    let packed = |names: &[&str]| {
        let packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let mut archive = tar::Builder::new(packed);
        for name in names {
            let text = program(name);
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o755);
            let path = format!("bin/{name}.exe");
            archive.append_data(&mut header, path, &text[..]).unwrap();
        }
        archive.into_inner().unwrap().finish().unwrap()
    };
    let (_, file) = path.rsplit_once('/')?;
    match file {
        "kubelet.exe" => Some(program("kubelet")),
        "kubeadm.exe" => Some(program("kubeadm")),
        "kube-proxy.exe" => Some(program("kube-proxy")),
        // Pinned for the Linux host, and not brought there.
        "kubelet" | "kubeadm" | "runc.amd64" => Some(program(file)),
        _ if !file.ends_with("gz") => None,
        _ if file.starts_with("containerd-") => {
            Some(packed(&["containerd", "containerd-shim-runhcs-v1"]))
        }
        _ if file.starts_with("cni-plugins-") => Some(packed(&["win-bridge", "host-local"])),
        _ => None,
    }
}

struct Shop {
    ground: Ground,
    publisher: Publisher,
}

impl Shop {
    /// A cluster whose file names a mirror and no program, and pins for all of them.
    async fn open() -> Self {
        let ground = Ground::start(1, true).await;
        let shop = Self {
            publisher: Publisher::start(published_for(&ground)),
            ground,
        };
        let file = shop.ground.cluster.cluster_file();
        let text = std::fs::read_to_string(&file).unwrap();
        let (text, _) = text.split_once("  artifacts:\n").unwrap();
        let mirror = &shop.publisher.url;
        let text = format!("{text}  artifacts: {{cache: ./cache, mirror: {mirror}}}\n");
        std::fs::write(file, text).unwrap();
        shop
    }

    fn at(&self, name: &str) -> PathBuf {
        self.ground.cluster.agents().with_file_name(name)
    }

    fn casement(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_casement"));
        command.current_dir(self.at("")).args(words);
        // Loopback is asked directly, whatever this machine's way out is.
        command.env("NO_PROXY", "127.0.0.0/8");
        command
    }

    /// Pins what the publisher has; hashes of the catalog are those of real releases.
    async fn pin(&self) {
        let output = run(self.casement(&["lock"])).await;
        assert!(output.status.success(), "{}", said(&output));
        let path = self.at("casement.lock");
        let mut text = String::new();
        let mut url = String::new();
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            if let Some(value) = line.strip_prefix("url = ") {
                url = value.trim_matches('"').to_owned();
            }
            match line.starts_with("sha256 = ") {
                true => {
                    let content = self.publisher.has(&url).unwrap_or_else(|| panic!("{url}"));
                    text += &format!("sha256 = \"{}\"\n", Sha256::of(&content));
                }
                false => text += &format!("{line}\n"),
            }
        }
        std::fs::write(path, text).unwrap();
    }

    async fn apply(&self, words: &[&str]) -> Output {
        let all = [&["apply", "--yes", "--agent-dir", "agent"], words].concat();
        run(self.casement(&all)).await
    }

    async fn refused(&self, words: &[&str], told: &[&str]) {
        let output = self.apply(words).await;
        let said = said(&output);
        println!("{said}");
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.lines().count() <= 24, "more than a screen: {said}");
        for word in told {
            assert!(said.contains(word), "`{word}` is not in: {said}");
        }
        let host = self.ground.cluster.host("windows1").unwrap();
        assert_eq!(host.left_behind(), [] as [&str; 0], "{said}");
    }

    async fn joined(&self, words: &[&str]) -> String {
        let output = self.apply(words).await;
        let said = said(&output);
        assert!(output.status.success(), "{said}");
        said
    }
}

fn published_for(ground: &Ground) -> impl Fn(&str) -> Option<Vec<u8>> + Send + Sync + 'static {
    let text = std::fs::read_to_string(ground.cluster.cluster_file()).unwrap();
    let version = text.split("version: ").nth(1).unwrap();
    let version = format!("v{}", version.lines().next().unwrap());
    move |path| published(path, &version)
}

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
    shop.joined(&["--accept-unverified", "--mirror", "mirror"])
        .await;
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
    let secure = Publisher::start_with_tls(published_for(&shop.ground), &shop.at("ca.pem"));
    let mirror = ["--accept-unverified", "--mirror", &secure.url];
    shop.refused(&mirror, &["CAS-LOCK-006", "certificate", "SSL_CERT_FILE"])
        .await;
    let mut trusted = shop.casement(&words);
    trusted.args(["--mirror", &secure.url]);
    trusted.env("SSL_CERT_FILE", shop.at("ca.pem"));
    let output = run(trusted).await;
    assert!(output.status.success(), "{}", said(&output));
}
