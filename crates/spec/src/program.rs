//! The programs that casement installs on Windows hosts.

use crate::named::named;

named! {
    /// A program that a local build can replace (`artifacts.overrides`).
    pub enum Program {
        Kubelet = "kubelet",
        Kubeadm = "kubeadm",
        KubeProxy = "kube-proxy",
        Kubectl = "kubectl",
        Containerd = "containerd",
        ContainerdShim = "containerd-shim-runhcs-v1",
        Ctr = "ctr",
        Crictl = "crictl",
        CriDockerd = "cri-dockerd",
        WinBridge = "win-bridge",
        WinOverlay = "win-overlay",
        HostLocal = "host-local",
        Flanneld = "flanneld",
        FlannelCni = "flannel",
        CasementOverlay = "casement-overlay",
        CalicoNode = "calico-node",
        CalicoCni = "calico",
        CalicoIpam = "calico-ipam",
    }
}
