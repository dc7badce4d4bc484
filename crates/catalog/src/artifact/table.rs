//! The table of downloads.

use super::{Artifact, Numbering, Packing, Sums, System};

const RKE2: &str = "rancher/rke2:Dockerfile.windows";
const KUBERNETES: &str = "kubernetes/website:tasks/tools/install-kubectl-windows.md (dl.k8s.io)";
const KUBESPRAY: &str =
    "kubernetes-sigs/kubespray:roles/kubespray_defaults/defaults/main/download.yml";

macro_rules! kubernetes {
    ($system:ident, $folder:literal, $name:literal, $file:literal) => {
        Artifact {
            name: $name,
            system: System::$system,
            url: concat!(
                "https://dl.k8s.io/v{version}/bin/",
                $folder,
                "/amd64/",
                $file
            ),
            packing: Packing::Plain,
            programs: &[$name],
            sums: Sums::Ending(".sha256"),
            numbering: Numbering::Kubernetes,
            source: KUBERNETES,
        }
    };
}

/// All downloads, Windows first.
pub const ARTIFACTS: &[Artifact] = &[
    kubernetes!(Windows, "windows", "kubelet", "kubelet.exe"),
    kubernetes!(Windows, "windows", "kubeadm", "kubeadm.exe"),
    kubernetes!(Windows, "windows", "kubectl", "kubectl.exe"),
    kubernetes!(Windows, "windows", "kube-proxy", "kube-proxy.exe"),
    kubernetes!(Windows, "windows", "kube-log-runner", "kube-log-runner.exe"),
    Artifact {
        name: "containerd",
        system: System::Windows,
        url: "https://github.com/containerd/containerd/releases/download/v{version}/containerd-{version}-windows-amd64.tar.gz",
        packing: Packing::TarGz,
        programs: &["containerd", "containerd-shim-runhcs-v1", "ctr"],
        sums: Sums::Ending(".sha256sum"),
        numbering: Numbering::Containerd,
        source: RKE2,
    },
    Artifact {
        name: "crictl",
        system: System::Windows,
        url: "https://github.com/kubernetes-sigs/cri-tools/releases/download/v{version}/crictl-v{version}-windows-amd64.tar.gz",
        packing: Packing::TarGz,
        programs: &["crictl"],
        sums: Sums::Ending(".sha256"),
        numbering: Numbering::KubernetesMinor,
        source: RKE2,
    },
    Artifact {
        name: "cni-plugins",
        system: System::Windows,
        url: "https://github.com/containernetworking/plugins/releases/download/v{version}/cni-plugins-windows-amd64-v{version}.tgz",
        packing: Packing::TarGz,
        programs: &["host-local", "win-bridge", "win-overlay"],
        sums: Sums::Ending(".sha256"),
        numbering: Numbering::Own("1.9.1"),
        source: RKE2,
    },
    Artifact {
        name: "windows-container-networking",
        system: System::Windows,
        url: "https://github.com/microsoft/windows-container-networking/releases/download/v{version}/windows-container-networking-cni-amd64-v{version}.zip",
        packing: Packing::Zip,
        programs: &["nat", "sdnbridge", "sdnoverlay"],
        sums: Sums::Nowhere,
        numbering: Numbering::Own("0.3.1"),
        source: "microsoft/windows-container-networking: releases",
    },
    Artifact {
        name: "flanneld",
        system: System::Windows,
        url: "https://github.com/flannel-io/flannel/releases/download/v{version}/flanneld.exe",
        packing: Packing::Plain,
        programs: &["flanneld"],
        sums: Sums::Nowhere,
        numbering: Numbering::Own("0.28.9"),
        source: RKE2,
    },
    Artifact {
        name: "flannel-cni",
        system: System::Windows,
        url: "https://github.com/flannel-io/cni-plugin/releases/download/v{version}/flannel-amd64.exe",
        packing: Packing::Plain,
        programs: &["flannel"],
        sums: Sums::Nowhere,
        numbering: Numbering::Own("1.9.1-flannel3"),
        source: RKE2,
    },
    Artifact {
        name: "calico",
        system: System::Windows,
        url: "https://github.com/projectcalico/calico/releases/download/v{version}/calico-windows-v{version}.zip",
        packing: Packing::Zip,
        programs: &["calico-node", "calico", "calico-ipam"],
        sums: Sums::Nowhere,
        numbering: Numbering::Own("3.32.1"),
        source: RKE2,
    },
    Artifact {
        name: "docker",
        system: System::Windows,
        url: "https://download.docker.com/win/static/stable/x86_64/docker-{version}.zip",
        packing: Packing::Zip,
        programs: &["dockerd", "docker"],
        sums: Sums::Nowhere,
        numbering: Numbering::Own("28.5.2"),
        source: "docker/docs:engine/install/binaries.md",
    },
    Artifact {
        name: "cri-dockerd",
        system: System::Windows,
        url: "https://github.com/Mirantis/cri-dockerd/releases/download/v{version}/cri-dockerd-{version}.amd64.win.zip",
        packing: Packing::Zip,
        programs: &["cri-dockerd"],
        sums: Sums::Nowhere,
        numbering: Numbering::Own("0.4.3"),
        source: "Mirantis/cri-dockerd: releases",
    },
    kubernetes!(Linux, "linux", "kubelet", "kubelet"),
    kubernetes!(Linux, "linux", "kubeadm", "kubeadm"),
    kubernetes!(Linux, "linux", "kubectl", "kubectl"),
    kubernetes!(Linux, "linux", "kube-proxy", "kube-proxy"),
    Artifact {
        name: "containerd",
        system: System::Linux,
        url: "https://github.com/containerd/containerd/releases/download/v{version}/containerd-{version}-linux-amd64.tar.gz",
        packing: Packing::TarGz,
        programs: &["containerd", "containerd-shim-runc-v2", "ctr"],
        sums: Sums::Ending(".sha256sum"),
        numbering: Numbering::Containerd,
        source: KUBESPRAY,
    },
    Artifact {
        name: "runc",
        system: System::Linux,
        url: "https://github.com/opencontainers/runc/releases/download/v{version}/runc.amd64",
        packing: Packing::Plain,
        programs: &["runc"],
        sums: Sums::Beside("runc.sha256sum"),
        numbering: Numbering::Own("1.4.3"),
        source: "containerd/containerd:script/setup/runc-version at v2.3.4; kubernetes-sigs/kubespray",
    },
    Artifact {
        name: "crictl",
        system: System::Linux,
        url: "https://github.com/kubernetes-sigs/cri-tools/releases/download/v{version}/crictl-v{version}-linux-amd64.tar.gz",
        packing: Packing::TarGz,
        programs: &["crictl"],
        sums: Sums::Ending(".sha256"),
        numbering: Numbering::KubernetesMinor,
        source: KUBESPRAY,
    },
    Artifact {
        name: "cni-plugins",
        system: System::Linux,
        url: "https://github.com/containernetworking/plugins/releases/download/v{version}/cni-plugins-linux-amd64-v{version}.tgz",
        packing: Packing::TarGz,
        programs: &["bridge", "host-local", "loopback", "portmap"],
        sums: Sums::Ending(".sha256"),
        numbering: Numbering::Own("1.9.1"),
        source: KUBESPRAY,
    },
];
