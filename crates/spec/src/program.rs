//! The programs that casement puts on a Windows host.

use crate::named::named;

named! {
    /// A program for which one's own build can be given
    /// (`artifacts.overrides`).
    pub enum Program {
        /// kubelet.exe
        Kubelet = "kubelet",
        /// kubeadm.exe
        Kubeadm = "kubeadm",
        /// kube-proxy.exe
        KubeProxy = "kube-proxy",
        /// containerd.exe
        Containerd = "containerd",
        /// containerd-shim-runhcs-v1.exe, which containerd starts for each pod
        ContainerdShim = "containerd-shim-runhcs-v1",
        /// win-bridge.exe, the CNI plugin of routed pod networks
        WinBridge = "win-bridge",
        /// host-local.exe, which gives pods their addresses
        HostLocal = "host-local",
    }
}
