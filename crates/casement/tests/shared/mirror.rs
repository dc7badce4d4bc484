//! A mirror of everything that a simulated cluster needs.

use std::path::Path;

use casement_resource::Sha256;
use casement_sim::{SimCluster, stand_in};

use crate::publisher::Publisher;

/// Makes the cluster's file name a mirror, and no program.
pub fn mirror_of(cluster: &SimCluster) -> Publisher {
    let publisher = Publisher::start(published_for(cluster));
    let file = cluster.cluster_file();
    let text = std::fs::read_to_string(&file).unwrap();
    let (text, _) = text.split_once("  artifacts:\n").unwrap();
    let mirror = &publisher.url;
    let text = format!("{text}  artifacts: {{cache: ./cache, mirror: {mirror}}}\n");
    std::fs::write(file, text).unwrap();
    publisher
}

/// Has a lock file pin what the publisher has; hashes of the catalog are those of real
/// releases.
pub fn pin(lock: &Path, publisher: &Publisher) {
    let mut text = String::new();
    let mut url = String::new();
    for line in std::fs::read_to_string(lock).unwrap().lines() {
        if let Some(value) = line.strip_prefix("url = ") {
            url = value.trim_matches('"').to_owned();
        }
        match line.starts_with("sha256 = ") {
            true => {
                let content = publisher.has(&url).unwrap_or_else(|| panic!("{url}"));
                text += &format!("sha256 = \"{}\"\n", Sha256::of(&content));
            }
            false => text += &format!("{line}\n"),
        }
    }
    std::fs::write(lock, text).unwrap();
}

/// What there is at a path, for the cluster's release of Kubernetes.
pub fn published_for(
    cluster: &SimCluster,
) -> impl Fn(&str) -> Option<Vec<u8>> + Send + Sync + 'static {
    let text = std::fs::read_to_string(cluster.cluster_file()).unwrap();
    let version = text.split("version: ").nth(1).unwrap();
    let version = format!("v{}", version.lines().next().unwrap());
    move |path| published(path, &version)
}

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
