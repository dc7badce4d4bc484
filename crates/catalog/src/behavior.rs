//! Behavior that differs between Kubernetes releases, besides flags and feature
//! gates. Code that generates configuration branches on these.

use crate::minor::{Minor, Minors};

/// A behavior that only some releases have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Behavior {
    CgroupsPerQosStopsKubelet,
    KubeadmNeedsCriSocket,
    KubeadmCallsCrictl,
    CriSocketInInstanceConfig,
    Dockershim,
    HostProcess,
    MasterLabel,
    MemoryEviction,
    SingleProcessOomKillRefused,
    UserNamespacesRefused,
    OverlayNeedsDualStackOff,
    PrimaryNodePortAddress,
    FailsOnCgroupV1,
    CaBesideKubelet,
    LogRunnerRotates,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BehaviorRow {
    pub behavior: Behavior,
    pub minors: Minors,
    pub what: &'static str,
    pub source: &'static str,
}

use Behavior::*;

pub const BEHAVIORS: &[BehaviorRow] = &[
    row(
        CgroupsPerQosStopsKubelet,
        Minors::new(0, 30),
        "the kubelet on Windows does not start unless cgroupsPerQOS is false and enforceNodeAllocatable is empty",
        "kubernetes/kubernetes#123137",
    ),
    row(
        KubeadmNeedsCriSocket,
        Minors::new(0, 24),
        "kubeadm on Windows does not detect the containerd pipe",
        "kubernetes-sigs/sig-windows-tools:hostprocess/PrepareNode.ps1",
    ),
    row(
        KubeadmCallsCrictl,
        Minors::new(0, 30),
        "kubeadm runs crictl, which must be in PATH",
        "kubernetes/kubernetes:cmd/kubeadm/app/util/runtime/runtime.go",
    ),
    row(
        CriSocketInInstanceConfig,
        Minors::since(34),
        "kubeadm writes the CRI socket to instance-config.yaml instead of kubeadm-flags.env",
        "kubernetes/kubernetes:cmd/kubeadm/app/features/features.go (NodeLocalCRISocket)",
    ),
    row(
        Dockershim,
        Minors::new(0, 23),
        "the kubelet supports Docker without cri-dockerd",
        "kubernetes/kubernetes:CHANGELOG/CHANGELOG-1.24.md",
    ),
    row(
        HostProcess,
        Minors::since(26),
        "HostProcess containers are stable (alpha 1.22, beta 1.23)",
        "kubernetes/kubernetes:pkg/features/kube_features.go",
    ),
    row(
        MasterLabel,
        Minors::new(0, 23),
        "kubeadm sets the label node-role.kubernetes.io/master on control-plane nodes",
        "kubernetes/kubernetes:CHANGELOG/CHANGELOG-1.24.md",
    ),
    row(
        MemoryEviction,
        Minors::since(31),
        "the kubelet on Windows evicts pods under memory pressure",
        "kubernetes/kubernetes:CHANGELOG/CHANGELOG-1.31.md",
    ),
    row(
        SingleProcessOomKillRefused,
        Minors::since(32),
        "the kubelet on Windows does not start if singleProcessOOMKill is set",
        "kubernetes/kubernetes:CHANGELOG/CHANGELOG-1.32.md",
    ),
    row(
        UserNamespacesRefused,
        Minors::since(33),
        "the kubelet on Windows does not start if userNamespaces is set",
        "kubernetes/kubernetes:CHANGELOG/CHANGELOG-1.33.md",
    ),
    row(
        OverlayNeedsDualStackOff,
        Minors::new(21, 21),
        "kube-proxy does not start on an overlay network unless the feature gate IPv6DualStack is off",
        "kubernetes/kubernetes#100966, #101047",
    ),
    row(
        PrimaryNodePortAddress,
        Minors::since(30),
        "kube-proxy accepts `primary` as a node port address",
        "kubernetes/kubernetes:CHANGELOG/CHANGELOG-1.30.md",
    ),
    row(
        FailsOnCgroupV1,
        Minors::since(35),
        "the kubelet on Linux does not start on cgroup v1 unless failCgroupV1 is false",
        "kubernetes/kubernetes:CHANGELOG/CHANGELOG-1.35.md",
    ),
    row(
        CaBesideKubelet,
        Minors::new(0, 22),
        "the kubelet on Windows looks for the CA in its own directory: a link is needed",
        "kubernetes-sigs/image-builder:images/capi/ansible/windows/roles/kubernetes",
    ),
    row(
        LogRunnerRotates,
        Minors::since(34),
        "kube-log-runner supports -log-file-size, -log-file-age and -flush-interval",
        "kubernetes/kubernetes:staging/src/k8s.io/component-base/logs/kube-log-runner",
    ),
];

const fn row(
    behaviour: Behavior,
    minors: Minors,
    what: &'static str,
    source: &'static str,
) -> BehaviorRow {
    BehaviorRow {
        behavior: behaviour,
        minors,
        what,
        source,
    }
}

pub fn holds(behaviour: Behavior, minor: Minor) -> bool {
    let mut rows = BEHAVIORS.iter();
    rows.any(|row| row.behavior == behaviour && row.minors.contains(minor))
}

pub const KUBEADM_APIS: &[(&str, Minors)] = &[
    ("v1beta2", Minors::new(21, 26)),
    ("v1beta3", Minors::new(22, 36)),
    ("v1beta4", Minors::since(31)),
];

pub fn kubeadm_api(minor: Minor) -> Option<&'static str> {
    let mut newest = KUBEADM_APIS.iter().rev();
    let read = newest.find(|(_, minors)| minors.contains(minor));
    read.map(|(version, _)| *version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cgroups_per_qos_stops_the_kubelet_until_1_30() {
        let stops = |minor| holds(CgroupsPerQosStopsKubelet, Minor::new(minor));
        assert!(stops(21) && stops(30) && !stops(31));
    }

    #[test]
    fn every_behavior_changes_within_the_covered_releases() {
        for (at, row) in BEHAVIORS.iter().enumerate() {
            let mut covered = Minor::covered();
            let ends =
                |minor: Minor| row.minors.contains(minor) != row.minors.contains(Minor::NEWEST);
            let begun = covered.any(ends);
            assert!(begun, "{:?} is the same in all releases", row.behavior);
            let mut rest = BEHAVIORS.iter().skip(at + 1);
            assert!(rest.all(|other| other.behavior != row.behavior));
        }
    }

    #[test]
    fn every_release_supports_a_kubeadm_api() {
        let api = |minor| kubeadm_api(Minor::new(minor));
        assert_eq!(api(21), Some("v1beta2"));
        assert_eq!(api(30), Some("v1beta3"));
        assert_eq!(api(31), Some("v1beta4"));
        assert_eq!(api(36), Some("v1beta4"));
        assert!(Minor::covered().all(|minor| kubeadm_api(minor).is_some()));
    }
}
