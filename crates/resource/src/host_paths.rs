//! Paths on hosts that more than one crate knows.

/// Configuration and keys of kubeadm and the kubelet.
pub const WINDOWS_KUBERNETES: &str = r"C:\etc\kubernetes";
pub const LINUX_KUBERNETES: &str = "/etc/kubernetes";

/// The kubelet's state, which includes the volumes of containers.
pub const WINDOWS_KUBELET: &str = r"C:\var\lib\kubelet";
pub const LINUX_KUBELET: &str = "/var/lib/kubelet";

/// Kubelet arguments that kubeadm writes, in the folder of the kubelet's state.
pub const KUBEADM_FLAGS: &str = "kubeadm-flags.env";

/// CNI plugins; shared with those of DaemonSets.
pub const WINDOWS_CNI_PROGRAMS: &str = r"C:\opt\cni\bin";
pub const LINUX_CNI_PROGRAMS: &str = "/opt/cni/bin";

pub const WINDOWS_CNI_CONFIGURATION: &str = r"C:\etc\cni\net.d";
pub const LINUX_CNI_CONFIGURATION: &str = "/etc/cni/net.d";

/// With one folder per service.
pub const WINDOWS_LOGS: &str = r"C:\var\log";
pub const LINUX_LOGS: &str = "/var/log";

/// The agent's state, if it is not configured. On Windows below the folder
/// `ProgramData`, which is rarely another one.
pub const WINDOWS_STATE: &str = r"C:\ProgramData\casement";
pub const LINUX_STATE: &str = "/var/lib/casement";

/// The folder of [`WINDOWS_STATE`] in `ProgramData`.
pub const STATE_FOLDER: &str = "casement";

#[must_use]
pub fn windows_log(service: &str) -> String {
    format!(r"{WINDOWS_LOGS}\{service}\{service}.log")
}

#[must_use]
pub fn linux_log(service: &str) -> String {
    format!("{LINUX_LOGS}/{service}/{service}.log")
}

#[must_use]
pub fn windows_kubeadm_flags() -> String {
    format!(r"{WINDOWS_KUBELET}\{KUBEADM_FLAGS}")
}
