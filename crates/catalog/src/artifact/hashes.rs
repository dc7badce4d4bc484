//! Hashes from a source independent of the download server.

use super::System;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownHash {
    pub name: &'static str,
    pub system: System,
    pub version: &'static str,
    pub sha256: &'static str,
    pub source: &'static str,
}

pub const HASHES: &[KnownHash] = &[
    windows(
        "containerd",
        "2.3.4",
        "5a61f42abd362cf21a9af6dff03edf1df2261e6fe6f3c2e45d132d12b99fdf49",
    ),
    windows(
        "crictl",
        "1.36.0",
        "73ef455b8a5a1e43f19372eba0ec40455e4abde3b9441a21db32c2a3172fb7ea",
    ),
    windows(
        "cni-plugins",
        "1.9.1",
        "c09a62523d76b32b883b6a9ee824c997b5c3cc8b3caebc8612c2f64fbbe97334",
    ),
    windows(
        "kubectl",
        "1.36.4",
        "31947857be7583f3e4e6d889a3fb781ca813a45c20f11ccb3ef309714d01a9f3",
    ),
    windows(
        "kubelet",
        "1.36.4",
        "dbb90c2e2028c60ce068049a27edd4bfc19d197c4e7ab2e39cf96002e3f99782",
    ),
    windows(
        "kube-proxy",
        "1.36.4",
        "dccf1854af088f1f2050197bbf46c65ecb90219769832f992bbd796f72192455",
    ),
    windows(
        "calico",
        "3.32.1",
        "c5d36ce819eb296dc92ecc366f452f787416d4835895119286e3cc29ea38c6a5",
    ),
    windows(
        "flanneld",
        "0.28.9",
        "7d43b3de5635891e68b36458d912a94c2eb94e15d878d486f539309db5845861",
    ),
    windows(
        "flannel-cni",
        "1.9.1-flannel3",
        "768c4a04e6ee3f7e3f9280488359b7e4bba4220246795261994a77a366860cc6",
    ),
];

const fn windows(name: &'static str, version: &'static str, sha256: &'static str) -> KnownHash {
    KnownHash {
        name,
        system: System::Windows,
        version,
        sha256,
        source: "rancher/rke2:Dockerfile.windows",
    }
}

pub fn known_hash(name: &str, system: System, version: &str) -> Option<&'static KnownHash> {
    HASHES
        .iter()
        .find(|hash| (hash.name, hash.system, hash.version) == (name, system, version))
}
