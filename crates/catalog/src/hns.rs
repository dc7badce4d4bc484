//! What the host networking service can do, by the version that it tells of
//! itself.

use std::fmt;

/// The version of the host networking service, as `GET /globals/version` gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HnsVersion {
    /// Goes up with a release of Windows.
    pub major: u16,
    /// Goes up with updates within one.
    pub minor: u16,
}

impl fmt::Display for HnsVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// What the service may be able to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the table says what each of them is")]
pub enum HnsFeature {
    AclRules,
    SchemaV2,
    RemoteSubnet,
    HostRoute,
    Dsr,
    Slash32Endpoints,
    CustomVxlanPort,
    AclProtocol252,
    DualStack,
    SessionAffinity,
    SetPolicy,
    L4Proxy,
    L4WfpProxy,
    TierAcl,
    NetworkAcl,
    NestedIpSet,
    DisableHostPort,
    Accelnet,
    ModifyLoadBalancer,
}

/// Which versions have a feature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HnsGate {
    /// The feature.
    pub feature: HnsFeature,
    /// What it is.
    pub what: &'static str,
    /// The first version with it, for each major version to which an update brought
    /// it; the last one holds for everything newer.
    pub since: &'static [(u16, u16)],
    /// Where it says so.
    pub source: &'static str,
}

const GLOBALS: &str = "microsoft/hcsshim:hcn/hcnglobals.go";

/// All features.
pub const HNS_FEATURES: &[HnsGate] = &[
    gate(HnsFeature::AclRules, "ACL rules", &[(7, 2)]),
    gate(HnsFeature::SchemaV2, "documents of schema 2", &[(9, 2)]),
    gate(
        HnsFeature::RemoteSubnet,
        "remote subnets of overlay networks",
        &[(9, 2)],
    ),
    gate(HnsFeature::HostRoute, "host routes", &[(9, 2)]),
    gate(HnsFeature::Dsr, "direct server return", &[(9, 3), (10, 2)]),
    gate(
        HnsFeature::Slash32Endpoints,
        "endpoints with a /32",
        &[(9, 3), (10, 4)],
    ),
    gate(
        HnsFeature::CustomVxlanPort,
        "a VXLAN port other than 4789",
        &[(10, 3)],
    ),
    gate(
        HnsFeature::AclProtocol252,
        "ACLs of protocol 252",
        &[(11, 0)],
    ),
    gate(HnsFeature::DualStack, "IPv4 and IPv6", &[(11, 10)]),
    gate(HnsFeature::SessionAffinity, "session affinity", &[(12, 0)]),
    gate(HnsFeature::SetPolicy, "policies on sets", &[(13, 0)]),
    gate(
        HnsFeature::L4Proxy,
        "layer-4 proxy policies",
        &[(9, 5), (10, 5), (11, 11), (12, 1), (13, 1)],
    ),
    gate(
        HnsFeature::L4WfpProxy,
        "layer-4 proxy policies by WFP",
        &[(13, 2)],
    ),
    gate(HnsFeature::TierAcl, "tiered ACLs", &[(14, 0)]),
    gate(HnsFeature::NetworkAcl, "ACLs on networks", &[(15, 0)]),
    gate(HnsFeature::NestedIpSet, "sets within sets", &[(15, 0)]),
    gate(
        HnsFeature::DisableHostPort,
        "networks without a host port",
        &[(15, 1)],
    ),
    gate(HnsFeature::Accelnet, "accelerated networking", &[(15, 4)]),
    HnsGate {
        // 15.4 accepts the call and ignores it, which hcsshim does not know.
        source: "microsoft/hnslib:hcn/hcnglobals.go, which kube-proxy uses",
        ..gate(
            HnsFeature::ModifyLoadBalancer,
            "changes of a load balancer in place",
            &[(15, 5)],
        )
    },
];

const fn gate(feature: HnsFeature, what: &'static str, since: &'static [(u16, u16)]) -> HnsGate {
    HnsGate {
        feature,
        what,
        since,
        source: GLOBALS,
    }
}

/// The row of a feature.
pub fn hns_gate(feature: HnsFeature) -> Option<&'static HnsGate> {
    HNS_FEATURES.iter().find(|gate| gate.feature == feature)
}

/// Whether a version of the service has a feature.
pub fn hns_supports(feature: HnsFeature, version: HnsVersion) -> bool {
    let Some(gate) = hns_gate(feature) else {
        return false;
    };
    let here = (version.major, version.minor);
    let newest = gate.since.last().is_some_and(|since| here >= *since);
    let brought = |since: &(u16, u16)| since.0 == here.0 && here.1 >= since.1;
    newest || gate.since.iter().any(brought)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(feature: HnsFeature, major: u16, minor: u16) -> bool {
        hns_supports(feature, HnsVersion { major, minor })
    }

    #[test]
    fn dsr_came_to_9_by_update_and_is_missing_in_10_0() {
        use HnsFeature::Dsr;
        assert!(!has(Dsr, 9, 2));
        assert!(has(Dsr, 9, 3));
        assert!(has(Dsr, 9, 9));
        assert!(!has(Dsr, 10, 0), "10.0 is newer than 9.3 and has none");
        assert!(has(Dsr, 10, 2));
        assert!(has(Dsr, 15, 0));
    }

    #[test]
    fn each_major_version_has_its_own_first_l4_proxy() {
        use HnsFeature::L4Proxy;
        assert!(has(L4Proxy, 11, 11));
        assert!(!has(L4Proxy, 12, 0));
        assert!(!has(L4Proxy, 13, 0));
        assert!(has(L4Proxy, 13, 1));
        assert!(has(L4Proxy, 14, 0));
    }

    #[test]
    fn every_feature_has_one_row_whose_versions_ascend() {
        for (at, gate) in HNS_FEATURES.iter().enumerate() {
            assert_eq!(hns_gate(gate.feature), HNS_FEATURES.get(at));
            assert!(gate.since.is_sorted() && !gate.since.is_empty());
        }
        assert!(!has(HnsFeature::ModifyLoadBalancer, 15, 4));
        assert!(!has(HnsFeature::CustomVxlanPort, 9, 5));
    }
}
