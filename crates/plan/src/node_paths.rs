//! Where things are on a node of either system.
//!
//! Programs of Windows are below `windows.baseDir`; the kubelet, kubeadm and CNI
//! have places that other software of a cluster expects to find them in.

use casement_spec::{Cluster, Host};

use crate::release::{Release, Runtime};

/// The places of one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// What stands between the parts of a path.
    pub separator: char,
    /// The programs of Kubernetes.
    pub programs: String,
    /// What the name of a program ends with.
    pub suffix: &'static str,
    /// containerd's programs and files.
    pub containerd: String,
    /// What containerd keeps: images, containers, their state.
    pub containerd_data: &'static str,
    /// Where kubeadm and the kubelet keep their configuration and keys.
    pub kubernetes: &'static str,
    /// The kubelet's state, which containers read their volumes through.
    pub kubelet: &'static str,
    /// CNI plugins, where DaemonSets put theirs too.
    pub cni_programs: &'static str,
    /// CNI configuration.
    pub cni_configuration: &'static str,
    /// Logs, a folder for each service.
    pub logs: &'static str,
    /// The runtime's socket as the kubelet and kubeadm name it.
    pub cri_socket: &'static str,
}

/// Where logs are, on Windows.
const WINDOWS_LOGS: &str = r"C:\var\log";
/// Where logs are, on Linux.
const LINUX_LOGS: &str = "/var/log";
/// Where Docker's makers put the program that speaks to it, on Windows.
pub const WINDOWS_DOCKER: &str = r"C:\Program Files\docker\docker.exe";
/// containerd's pipe as the file system names it.
pub const CONTAINERD_PIPE: &str = r"\\.\pipe\containerd-containerd";
/// containerd's socket on Linux.
pub const CONTAINERD_SOCKET: &str = "/run/containerd/containerd.sock";
/// What `host-local` has given away, on Windows.
pub const WINDOWS_CNI_LEASES: &str = r"C:\var\lib\cni\networks";
/// What the CNI plugins themselves keep, on Windows.
pub const WINDOWS_CNI_STATE: &str = r"C:\var\lib\cni";
/// Where the kubelet looks for volume plugins, and makes the folder if need be,
/// on Windows.
pub const WINDOWS_VOLUME_PLUGINS: &str = r"C:\usr\libexec\kubernetes";
/// Where flannel's daemon leaves word for its CNI plugin, on Windows.
pub const WINDOWS_FLANNEL_STATE: &str = r"C:\run\flannel";
/// Where flannel looks for its configuration, on Windows.
pub const WINDOWS_FLANNEL: &str = r"C:\etc\kube-flannel";

/// The log file of a service that casement runs on a host.
#[must_use]
pub fn log_file(host: &Host, service: &str) -> String {
    let (logs, separator) = match host.os.is_windows() {
        true => (WINDOWS_LOGS, '\\'),
        false => (LINUX_LOGS, '/'),
    };
    log_below(logs, separator, service)
}

fn log_below(logs: &str, separator: char, service: &str) -> String {
    format!("{logs}{separator}{service}{separator}{service}.log")
}

impl Places {
    /// The places of a host.
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
            kubernetes: r"C:\etc\kubernetes",
            kubelet: r"C:\var\lib\kubelet",
            cni_programs: r"C:\opt\cni\bin",
            cni_configuration: r"C:\etc\cni\net.d",
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
            kubernetes: "/etc/kubernetes",
            kubelet: "/var/lib/kubelet",
            cni_programs: "/opt/cni/bin",
            cni_configuration: "/etc/cni/net.d",
            logs: LINUX_LOGS,
            cri_socket: match release.runtime() {
                Runtime::Containerd(_) => "unix:///run/containerd/containerd.sock",
                Runtime::Dockershim => "/var/run/dockershim.sock",
                Runtime::CriDockerd => "unix:///run/cri-dockerd.sock",
            },
        }
    }

    /// A path below a folder.
    pub fn below(&self, folder: &str, parts: &[&str]) -> String {
        let mut path = folder.to_owned();
        for part in parts {
            path.push(self.separator);
            path.push_str(part);
        }
        path
    }

    /// A path below kubeadm's folder.
    pub fn in_kubernetes(&self, parts: &[&str]) -> String {
        self.below(self.kubernetes, parts)
    }

    /// A path below the kubelet's state.
    pub fn in_kubelet(&self, parts: &[&str]) -> String {
        self.below(self.kubelet, parts)
    }

    /// A program of Kubernetes.
    pub fn program(&self, name: &str) -> String {
        self.below(&self.programs, &[&format!("{name}{}", self.suffix)])
    }

    /// The folder of a service's logs.
    pub fn log_folder(&self, service: &str) -> String {
        self.below(self.logs, &[service])
    }

    /// The log file of a service.
    pub fn log(&self, service: &str) -> String {
        log_below(self.logs, self.separator, service)
    }
}
