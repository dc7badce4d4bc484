//! Names of services on hosts.

/// The agent's own service.
pub const CASEMENT: &str = "casement";
pub const CONTAINERD: &str = "containerd";
/// As kubeadm requires it.
pub const KUBELET: &str = "kubelet";
pub const KUBE_PROXY: &str = "kube-proxy";
pub const FLANNELD: &str = "flanneld";
pub const CASEMENT_OVERLAY: &str = "casement-overlay";
/// The CRI server for Docker.
pub const CRI_DOCKERD: &str = "cri-dockerd";
/// As Docker's installer registers it.
pub const DOCKER: &str = "docker";
