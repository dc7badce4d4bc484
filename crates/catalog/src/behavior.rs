//! What Kubernetes does differently from one release to another, beyond flags and
//! gates: the branch points of whoever writes its configuration.

use crate::minor::{Minor, Minors};

/// Something that holds in some releases only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the table says what each of them is")]
pub enum Behaviour {
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

/// The releases in which something holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BehaviourRow {
    /// What.
    pub behaviour: Behaviour,
    /// When.
    pub minors: Minors,
    /// In words.
    pub what: &'static str,
    /// Where it says so.
    pub source: &'static str,
}

use Behaviour::*;

/// All of them.
pub const BEHAVIOURS: &[BehaviourRow] = &[
    row(
        CgroupsPerQosStopsKubelet,
        Minors::new(0, 30),
        "a kubelet on Windows does not start unless cgroupsPerQOS is false and enforceNodeAllocatable is empty",
        "kubernetes/kubernetes#123137",
    ),
    row(
        KubeadmNeedsCriSocket,
        Minors::new(0, 24),
        "kubeadm on Windows does not find the pipe of containerd by itself",
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
        "kubeadm writes the runtime's socket to instance-config.yaml, not to kubeadm-flags.env",
        "kubernetes/kubernetes:cmd/kubeadm/app/features/features.go (NodeLocalCRISocket)",
    ),
    row(
        Dockershim,
        Minors::new(0, 23),
        "the kubelet speaks to Docker without cri-dockerd",
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
        "kubeadm puts the label node-role.kubernetes.io/master on control planes",
        "kubernetes/kubernetes:CHANGELOG/CHANGELOG-1.24.md",
    ),
    row(
        MemoryEviction,
        Minors::since(31),
        "a kubelet on Windows evicts pods when memory runs short",
        "kubernetes/kubernetes:CHANGELOG/CHANGELOG-1.31.md",
    ),
    row(
        SingleProcessOomKillRefused,
        Minors::since(32),
        "a kubelet on Windows does not start when singleProcessOOMKill is set",
        "kubernetes/kubernetes:CHANGELOG/CHANGELOG-1.32.md",
    ),
    row(
        UserNamespacesRefused,
        Minors::since(33),
        "a kubelet on Windows does not start when userNamespaces is set",
        "kubernetes/kubernetes:CHANGELOG/CHANGELOG-1.33.md",
    ),
    row(
        OverlayNeedsDualStackOff,
        Minors::new(21, 21),
        "kube-proxy on an overlay does not start unless the gate IPv6DualStack is off",
        "kubernetes/kubernetes#100966, #101047",
    ),
    row(
        PrimaryNodePortAddress,
        Minors::since(30),
        "kube-proxy understands `primary` as a node port address",
        "kubernetes/kubernetes:CHANGELOG/CHANGELOG-1.30.md",
    ),
    row(
        FailsOnCgroupV1,
        Minors::since(35),
        "a kubelet on Linux does not start on cgroup v1 unless failCgroupV1 is false",
        "kubernetes/kubernetes:CHANGELOG/CHANGELOG-1.35.md",
    ),
    row(
        CaBesideKubelet,
        Minors::new(0, 22),
        "the kubelet on Windows looks for the CA below its own folder: a link is needed",
        "kubernetes-sigs/image-builder:images/capi/ansible/windows/roles/kubernetes",
    ),
    row(
        LogRunnerRotates,
        Minors::since(34),
        "kube-log-runner takes -log-file-size, -log-file-age and -flush-interval",
        "kubernetes/kubernetes:staging/src/k8s.io/component-base/logs/kube-log-runner",
    ),
];

const fn row(
    behaviour: Behaviour,
    minors: Minors,
    what: &'static str,
    source: &'static str,
) -> BehaviourRow {
    BehaviourRow {
        behaviour,
        minors,
        what,
        source,
    }
}

/// Whether something holds in a release.
pub fn holds(behaviour: Behaviour, minor: Minor) -> bool {
    let mut rows = BEHAVIOURS.iter();
    rows.any(|row| row.behaviour == behaviour && row.minors.contains(minor))
}

/// The versions of kubeadm's configuration, with the releases that read them.
pub const KUBEADM_APIS: &[(&str, Minors)] = &[
    ("v1beta2", Minors::new(21, 26)),
    ("v1beta3", Minors::new(22, 36)),
    ("v1beta4", Minors::since(31)),
];

/// The newest version of kubeadm's configuration that a release reads.
pub fn kubeadm_api(minor: Minor) -> Option<&'static str> {
    let mut newest = KUBEADM_APIS.iter().rev();
    let read = newest.find(|(_, minors)| minors.contains(minor));
    read.map(|(version, _)| *version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kubelet_stops_over_cgroups_until_1_30() {
        let stops = |minor| holds(CgroupsPerQosStopsKubelet, Minor::new(minor));
        assert!(stops(21) && stops(30) && !stops(31));
    }

    #[test]
    fn every_behaviour_begins_or_ends_within_the_covered_releases() {
        for (at, row) in BEHAVIOURS.iter().enumerate() {
            let mut covered = Minor::covered();
            let ends =
                |minor: Minor| row.minors.contains(minor) != row.minors.contains(Minor::NEWEST);
            let begun = covered.any(ends);
            assert!(begun, "{:?} is the same in all releases", row.behaviour);
            let mut rest = BEHAVIOURS.iter().skip(at + 1);
            assert!(rest.all(|other| other.behaviour != row.behaviour));
        }
    }

    #[test]
    fn every_release_reads_some_kubeadm_configuration() {
        let api = |minor| kubeadm_api(Minor::new(minor));
        assert_eq!(api(21), Some("v1beta2"));
        assert_eq!(api(30), Some("v1beta3"));
        assert_eq!(api(31), Some("v1beta4"));
        assert_eq!(api(36), Some("v1beta4"));
        assert!(Minor::covered().all(|minor| kubeadm_api(minor).is_some()));
    }
}
