//! Where things are on a Windows node.
//!
//! Programs are below `windows.baseDir`; the kubelet, kubeadm and CNI have
//! places that other software of a cluster expects to find them in.

/// Where kubeadm and the kubelet keep their configuration and keys.
pub const KUBERNETES: &str = r"C:\etc\kubernetes";
/// The kubelet's state, which containers read their volumes through.
pub const KUBELET: &str = r"C:\var\lib\kubelet";
/// Where the kubelet looks for volume plugins, and makes the folder if need be.
pub const KUBELET_PLUGINS: &str = r"C:\usr\libexec\kubernetes";
/// CNI plugins, where HostProcess DaemonSets put theirs too.
pub const CNI_PROGRAMS: &str = r"C:\opt\cni\bin";
/// CNI configuration.
pub const CNI_CONFIGURATION: &str = r"C:\etc\cni\net.d";
/// What `host-local` has given away.
pub const CNI_LEASES: &str = r"C:\var\lib\cni\networks";
/// What containerd keeps: images, containers, their state.
pub const CONTAINERD_DATA: &str = r"C:\ProgramData\containerd";
/// Logs, a folder for each service.
pub const LOGS: &str = r"C:\var\log";
/// containerd's pipe as the file system names it.
pub const CONTAINERD_PIPE: &str = r"\\.\pipe\containerd-containerd";
/// containerd's pipe as the kubelet and kubeadm name it.
pub const CRI_SOCKET: &str = "npipe:////./pipe/containerd-containerd";

/// The log file of a service.
pub fn log(service: &str) -> String {
    format!(r"{LOGS}\{service}\{service}.log")
}
