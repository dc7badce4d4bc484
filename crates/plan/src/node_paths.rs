//! The paths of a node.
//!
//! Windows programs are below `windows.baseDir`; the kubelet, kubeadm and CNI have the paths
//! that other software expects.

use casement_resource::host_paths::{
    LINUX_CNI_CONFIGURATION, LINUX_CNI_PROGRAMS, LINUX_KUBELET, LINUX_KUBERNETES, LINUX_LOGS,
    WINDOWS_CNI_CONFIGURATION, WINDOWS_CNI_PROGRAMS, WINDOWS_KUBELET, WINDOWS_KUBERNETES,
    WINDOWS_LOGS, linux_log, windows_log,
};
use casement_spec::{Cluster, Host};

use crate::release::{Release, Runtime};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodePaths {
    pub separator: char,
    /// The folder of Kubernetes' programs.
    pub programs: String,
    /// Of program names.
    pub suffix: &'static str,
    /// The folder of containerd's programs and files.
    pub containerd: String,
    /// Images, containers and their state.
    pub containerd_data: &'static str,
    /// Configuration and keys of kubeadm and the kubelet.
    pub kubernetes: &'static str,
    /// The kubelet's state, which includes the volumes of containers.
    pub kubelet: &'static str,
    /// Shared with the CNI plugins of DaemonSets.
    pub cni_programs: &'static str,
    pub cni_configuration: &'static str,
    /// With one folder per service.
    pub logs: &'static str,
    /// As the kubelet and kubeadm write it.
    pub cri_socket: &'static str,
}

/// Where Docker's installer puts the CLI.
pub const WINDOWS_DOCKER: &str = r"C:\Program Files\docker\docker.exe";
pub const CONTAINERD_PIPE: &str = r"\\.\pipe\containerd-containerd";
pub const CONTAINERD_SOCKET: &str = "/run/containerd/containerd.sock";
/// The leases of `host-local`.
pub const WINDOWS_CNI_LEASES: &str = r"C:\var\lib\cni\networks";
pub const WINDOWS_CNI_STATE: &str = r"C:\var\lib\cni";
/// The kubelet creates it if it does not exist.
pub const WINDOWS_VOLUME_PLUGINS: &str = r"C:\usr\libexec\kubernetes";
/// flanneld writes the node's subnet there for its CNI plugin.
pub const WINDOWS_FLANNEL_STATE: &str = r"C:\run\flannel";
pub const WINDOWS_FLANNEL: &str = r"C:\etc\kube-flannel";

#[must_use]
pub fn log_file(host: &Host, service: &str) -> String {
    match host.os.is_windows() {
        true => windows_log(service),
        false => linux_log(service),
    }
}

impl NodePaths {
    pub fn of(cluster: &Cluster, host: &Host, release: Release) -> Self {
        if host.os.is_windows() {
            Self::windows(cluster.spec.windows.base_dir.as_str(), release)
        } else {
            Self::linux(release)
        }
    }

    fn windows(base: &str, release: Release) -> Self {
        Self {
            separator: '\\',
            programs: base.to_owned(),
            suffix: ".exe",
            containerd: format!(r"{base}\containerd"),
            containerd_data: r"C:\ProgramData\containerd",
            kubernetes: WINDOWS_KUBERNETES,
            kubelet: WINDOWS_KUBELET,
            cni_programs: WINDOWS_CNI_PROGRAMS,
            cni_configuration: WINDOWS_CNI_CONFIGURATION,
            logs: WINDOWS_LOGS,
            cri_socket: match release.runtime() {
                Runtime::Containerd(_) => "npipe:////./pipe/containerd-containerd",
                Runtime::Dockershim => "npipe:////./pipe/dockershim",
                Runtime::CriDockerd => "npipe:////./pipe/cri-dockerd",
            },
        }
    }

    fn linux(release: Release) -> Self {
        Self {
            separator: '/',
            programs: "/usr/local/bin".to_owned(),
            suffix: "",
            containerd: "/etc/containerd".to_owned(),
            containerd_data: "/var/lib/containerd",
            kubernetes: LINUX_KUBERNETES,
            kubelet: LINUX_KUBELET,
            cni_programs: LINUX_CNI_PROGRAMS,
            cni_configuration: LINUX_CNI_CONFIGURATION,
            logs: LINUX_LOGS,
            cri_socket: match release.runtime() {
                Runtime::Containerd(_) => "unix:///run/containerd/containerd.sock",
                Runtime::Dockershim => "/var/run/dockershim.sock",
                Runtime::CriDockerd => "unix:///run/cri-dockerd.sock",
            },
        }
    }

    pub fn below(&self, folder: &str, parts: &[&str]) -> String {
        let mut path = folder.to_owned();
        for part in parts {
            path.push(self.separator);
            path.push_str(part);
        }
        path
    }

    pub fn in_kubernetes(&self, parts: &[&str]) -> String {
        self.below(self.kubernetes, parts)
    }

    pub fn in_kubelet(&self, parts: &[&str]) -> String {
        self.below(self.kubelet, parts)
    }

    pub fn program(&self, name: &str) -> String {
        self.below(&self.programs, &[&format!("{name}{}", self.suffix)])
    }

    pub fn log_folder(&self, service: &str) -> String {
        self.below(self.logs, &[service])
    }

    pub fn log(&self, service: &str) -> String {
        self.below(self.logs, &[service, &format!("{service}.log")])
    }
}
