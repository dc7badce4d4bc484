//! The version skew policy of cluster components.

use std::ops::RangeInclusive;

use crate::minor::{Minor, Minors};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkewRule {
    pub part: &'static str,
    pub to: &'static str,
    /// The releases of `to`.
    pub minors: Minors,
    pub older: u16,
    pub newer: u16,
    pub source: &'static str,
}

const POLICY: &str = "kubernetes/website:releases/version-skew-policy.md";
const KUBEADM: &str = "kubernetes/kubernetes:cmd/kubeadm/app/constants/constants.go";
const KUBELET: &str = "kubelet";
const KUBE_PROXY: &str = "kube-proxy";
const API_SERVER: &str = "kube-apiserver";

/// Components before 1.25 may be two releases older, not three: an API server 1.27
/// accepts kubelets from 1.25 on.
pub const SKEWS: &[SkewRule] = &[
    rule(KUBELET, API_SERVER, Minors::new(0, 27), 2, 0, POLICY),
    rule(KUBELET, API_SERVER, Minors::since(28), 3, 0, POLICY),
    rule(KUBE_PROXY, API_SERVER, Minors::new(0, 27), 2, 0, POLICY),
    rule(KUBE_PROXY, API_SERVER, Minors::since(28), 3, 0, POLICY),
    rule(KUBE_PROXY, KUBELET, Minors::new(0, 27), 2, 2, POLICY),
    rule(KUBE_PROXY, KUBELET, Minors::since(28), 3, 3, POLICY),
    rule(KUBELET, "kubeadm", Minors::new(0, 28), 1, 0, KUBEADM),
    rule(KUBELET, "kubeadm", Minors::since(29), 3, 0, KUBEADM),
    rule(
        API_SERVER,
        "kubeadm",
        Minors::new(0, u16::MAX),
        1,
        0,
        KUBEADM,
    ),
];

const fn rule(
    part: &'static str,
    to: &'static str,
    minors: Minors,
    older: u16,
    newer: u16,
    source: &'static str,
) -> SkewRule {
    SkewRule {
        part,
        to,
        minors,
        older,
        newer,
        source,
    }
}

fn allowed(part: &str, to: &str, minor: Minor) -> RangeInclusive<Minor> {
    let rule = SKEWS
        .iter()
        .find(|rule| rule.part == part && rule.to == to && rule.minors.contains(minor));
    // Without a rule the releases must be equal.
    let (older, newer) = rule.map_or((0, 0), |rule| (rule.older, rule.newer));
    minor.before(older)..=minor.after(newer)
}

pub fn kubelet_range(api_server: Minor) -> RangeInclusive<Minor> {
    allowed(KUBELET, API_SERVER, api_server)
}

pub fn kube_proxy_range(api_server: Minor, kubelet: Minor) -> RangeInclusive<Minor> {
    let by_server = allowed(KUBE_PROXY, API_SERVER, api_server);
    let by_kubelet = allowed(KUBE_PROXY, KUBELET, kubelet);
    *by_server.start().max(by_kubelet.start())..=*by_server.end().min(by_kubelet.end())
}

pub fn kubeadm_kubelet_range(kubeadm: Minor) -> RangeInclusive<Minor> {
    allowed(KUBELET, "kubeadm", kubeadm)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minors(range: &RangeInclusive<Minor>) -> (u16, u16) {
        (range.start().number(), range.end().number())
    }

    #[test]
    fn a_kubelet_is_never_newer_and_at_most_three_older() {
        let of = |server| minors(&kubelet_range(Minor::new(server)));
        assert_eq!(of(36), (33, 36));
        assert_eq!(of(28), (25, 28));
        assert_eq!(
            of(27),
            (25, 27),
            "a kubelet before 1.25 may only be two releases older"
        );
        assert_eq!(of(26), (24, 26));
    }

    #[test]
    fn kube_proxy_depends_on_api_server_and_kubelet() {
        let of =
            |server, kubelet| minors(&kube_proxy_range(Minor::new(server), Minor::new(kubelet)));
        assert_eq!(of(36, 36), (33, 36));
        assert_eq!(of(36, 33), (33, 36));
        assert_eq!(of(28, 25), (25, 27));
    }

    #[test]
    fn kubeadm_supports_three_older_kubelets_since_1_29() {
        let of = |kubeadm| minors(&kubeadm_kubelet_range(Minor::new(kubeadm)));
        assert_eq!(of(28), (27, 28));
        assert_eq!(of(29), (26, 29));
    }
}
