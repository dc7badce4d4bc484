//! A mirror with all programs that a simulated cluster needs.

use std::path::Path;

use casement_resource::Sha256;
use casement_sim::{SimCluster, placeholder_program};

use crate::mirror_server::MirrorServer;

/// Changes the cluster file to use the mirror in place of local programs.
pub fn start_mirror(cluster: &SimCluster) -> MirrorServer {
    let server = MirrorServer::start(mirror_content(cluster));
    let file = cluster.cluster_file();
    let text = std::fs::read_to_string(&file).unwrap();
    let (text, _) = text.split_once("  artifacts:\n").unwrap();
    let mirror = &server.url;
    let text = format!("{text}  artifacts: {{cache: ./cache, mirror: {mirror}}}\n");
    std::fs::write(file, text).unwrap();
    server
}

/// Rewrites the hashes of a lock file to those of the mirror's files; the hashes in the
/// catalog are those of real releases.
pub fn pin(lock: &Path, server: &MirrorServer) {
    let mut text = String::new();
    let mut url = String::new();
    for line in std::fs::read_to_string(lock).unwrap().lines() {
        if let Some(value) = line.strip_prefix("url = ") {
            url = value.trim_matches('"').to_owned();
        }
        match line.starts_with("sha256 = ") {
            true => {
                let bytes = server.content(&url).unwrap_or_else(|| panic!("{url}"));
                text += &format!("sha256 = \"{}\"\n", Sha256::of(&bytes));
            }
            false => text += &format!("{line}\n"),
        }
    }
    std::fs::write(lock, text).unwrap();
}

/// The content by path, for the cluster's release of Kubernetes.
pub fn mirror_content(
    cluster: &SimCluster,
) -> impl Fn(&str) -> Option<Vec<u8>> + Send + Sync + 'static {
    let text = std::fs::read_to_string(cluster.cluster_file()).unwrap();
    let version = text.split("version: ").nth(1).unwrap();
    let version = format!("v{}", version.lines().next().unwrap());
    move |path| content(path, &version)
}

fn content(path: &str, version: &str) -> Option<Vec<u8>> {
    let program = |name: &str| placeholder_program(name, version).into_bytes();
    let archive_of = |names: &[&str]| {
        let packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let mut archive = tar::Builder::new(packer);
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
        // Pinned for the Linux host, but not installed there.
        "kubelet" | "kubeadm" | "runc.amd64" => Some(program(file)),
        _ if !file.ends_with("gz") => None,
        _ if file.starts_with("containerd-") => {
            Some(archive_of(&["containerd", "containerd-shim-runhcs-v1"]))
        }
        _ if file.starts_with("cni-plugins-") => Some(archive_of(&["win-bridge", "host-local"])),
        _ => None,
    }
}
