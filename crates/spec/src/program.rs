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
        /// kubectl.exe
        Kubectl = "kubectl",
        /// containerd.exe
        Containerd = "containerd",
        /// containerd-shim-runhcs-v1.exe, which containerd starts for each pod
        ContainerdShim = "containerd-shim-runhcs-v1",
        /// ctr.exe, which comes with containerd and pulls images into it
        Ctr = "ctr",
        /// crictl.exe, with which a person asks containerd
        Crictl = "crictl",
        /// cri-dockerd.exe, between Docker and a kubelet of 1.24 or later
        CriDockerd = "cri-dockerd",
        /// win-bridge.exe, the CNI plugin of routed pod networks
        WinBridge = "win-bridge",
        /// win-overlay.exe, the CNI plugin of VXLAN pod networks
        WinOverlay = "win-overlay",
        /// host-local.exe, which gives pods their addresses
        HostLocal = "host-local",
        /// flanneld.exe, flannel's daemon
        Flanneld = "flanneld",
        /// flannel.exe, flannel's CNI plugin
        FlannelCni = "flannel",
        /// casement-overlay.exe, casement's own daemon in flannel's place
        CasementOverlay = "casement-overlay",
        /// calico-node.exe, Calico's daemon
        CalicoNode = "calico-node",
        /// calico.exe, Calico's CNI plugin
        CalicoCni = "calico",
        /// calico-ipam.exe, which gives Calico's pods their addresses
        CalicoIpam = "calico-ipam",
    }
}
