//! A cluster that is made of downloads.

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

/// A cluster whose programs a mirror has.
pub struct Shop {
    pub ground: Ground,
    pub publisher: Publisher,
}

impl Shop {
    /// With one Windows host.
    pub async fn open() -> Self {
        Self::with_hosts(1).await
    }

    /// A cluster whose file names a mirror and no program.
    pub async fn with_hosts(windows: usize) -> Self {
        let ground = Ground::start(windows, true).await;
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

    pub fn at(&self, name: &str) -> PathBuf {
        self.ground.cluster.agents().with_file_name(name)
    }

    pub fn casement(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_casement"));
        command.current_dir(self.at("")).args(words);
        // Loopback is asked directly, whatever this machine's way out is.
        command.env("NO_PROXY", "127.0.0.0/8");
        command
    }

    /// Pins what the publisher has; hashes of the catalog are those of real releases.
    pub async fn pin(&self) {
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

    pub async fn apply(&self, words: &[&str]) -> Output {
        let all = [&["apply", "--yes", "--agent-dir", "agent"], words].concat();
        run(self.casement(&all)).await
    }

    pub async fn refused(&self, words: &[&str], told: &[&str]) {
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

    pub async fn joined(&self, words: &[&str]) -> String {
        let output = self.apply(words).await;
        let said = said(&output);
        assert!(output.status.success(), "{said}");
        said
    }
}

pub fn published_for(ground: &Ground) -> impl Fn(&str) -> Option<Vec<u8>> + Send + Sync + 'static {
    let text = std::fs::read_to_string(ground.cluster.cluster_file()).unwrap();
    let version = text.split("version: ").nth(1).unwrap();
    let version = format!("v{}", version.lines().next().unwrap());
    move |path| published(path, &version)
}
