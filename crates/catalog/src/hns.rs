//! Features of the host networking service by the version it reports.

use std::fmt;

/// The version from `GET /globals/version`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HnsVersion {
    /// Changes with Windows releases.
    pub major: u16,
    /// Changes with updates.
    pub minor: u16,
}

impl fmt::Display for HnsVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HnsFeatureRow {
    pub feature: HnsFeature,
    pub what: &'static str,
    /// The first version of each major version that got the feature in an update;
    /// everything from the last one on has it.
    pub since: &'static [(u16, u16)],
    pub source: &'static str,
}

const GLOBALS: &str = "microsoft/hcsshim:hcn/hcnglobals.go";

pub const HNS_FEATURES: &[HnsFeatureRow] = &[
    row(HnsFeature::AclRules, "ACL rules", &[(7, 2)]),
    row(HnsFeature::SchemaV2, "schema 2 documents", &[(9, 2)]),
    row(
        HnsFeature::RemoteSubnet,
        "remote subnets of overlay networks",
        &[(9, 2)],
    ),
    row(HnsFeature::HostRoute, "host routes", &[(9, 2)]),
    row(HnsFeature::Dsr, "direct server return", &[(9, 3), (10, 2)]),
    row(
        HnsFeature::Slash32Endpoints,
        "endpoints with a /32",
        &[(9, 3), (10, 4)],
    ),
    row(
        HnsFeature::CustomVxlanPort,
        "a VXLAN port other than 4789",
        &[(10, 3)],
    ),
    row(
        HnsFeature::AclProtocol252,
        "ACLs for protocol 252",
        &[(11, 0)],
    ),
    row(HnsFeature::DualStack, "IPv4 and IPv6", &[(11, 10)]),
    row(HnsFeature::SessionAffinity, "session affinity", &[(12, 0)]),
    row(HnsFeature::SetPolicy, "policies on sets", &[(13, 0)]),
    row(
        HnsFeature::L4Proxy,
        "layer-4 proxy policies",
        &[(9, 5), (10, 5), (11, 11), (12, 1), (13, 1)],
    ),
    row(
        HnsFeature::L4WfpProxy,
        "layer-4 proxy policies (WFP)",
        &[(13, 2)],
    ),
    row(HnsFeature::TierAcl, "tiered ACLs", &[(14, 0)]),
    row(HnsFeature::NetworkAcl, "ACLs on networks", &[(15, 0)]),
    row(HnsFeature::NestedIpSet, "nested sets", &[(15, 0)]),
    row(
        HnsFeature::DisableHostPort,
        "networks without a host port",
        &[(15, 1)],
    ),
    row(HnsFeature::Accelnet, "accelerated networking", &[(15, 4)]),
    HnsFeatureRow {
        // 15.4 accepts the call but ignores it; hcsshim does not handle that.
        source: "microsoft/hnslib:hcn/hcnglobals.go, which kube-proxy uses",
        ..row(
            HnsFeature::ModifyLoadBalancer,
            "in-place changes of load balancers",
            &[(15, 5)],
        )
    },
];

const fn row(
    feature: HnsFeature,
    what: &'static str,
    since: &'static [(u16, u16)],
) -> HnsFeatureRow {
    HnsFeatureRow {
        feature,
        what,
        since,
        source: GLOBALS,
    }
}

pub fn hns_feature(feature: HnsFeature) -> Option<&'static HnsFeatureRow> {
    HNS_FEATURES.iter().find(|row| row.feature == feature)
}

pub fn hns_supports(feature: HnsFeature, version: HnsVersion) -> bool {
    let Some(row) = hns_feature(feature) else {
        return false;
    };
    let here = (version.major, version.minor);
    let newest = row.since.last().is_some_and(|since| here >= *since);
    let backported = |since: &(u16, u16)| since.0 == here.0 && here.1 >= since.1;
    newest || row.since.iter().any(backported)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(feature: HnsFeature, major: u16, minor: u16) -> bool {
        hns_supports(feature, HnsVersion { major, minor })
    }

    #[test]
    fn dsr_is_in_9_3_but_not_in_10_0() {
        use HnsFeature::Dsr;
        assert!(!has(Dsr, 9, 2));
        assert!(has(Dsr, 9, 3));
        assert!(has(Dsr, 9, 9));
        assert!(!has(Dsr, 10, 0), "10.0 is newer than 9.3 but lacks DSR");
        assert!(has(Dsr, 10, 2));
        assert!(has(Dsr, 15, 0));
    }

    #[test]
    fn l4_proxy_depends_on_the_major_version() {
        use HnsFeature::L4Proxy;
        assert!(has(L4Proxy, 11, 11));
        assert!(!has(L4Proxy, 12, 0));
        assert!(!has(L4Proxy, 13, 0));
        assert!(has(L4Proxy, 13, 1));
        assert!(has(L4Proxy, 14, 0));
    }

    #[test]
    fn every_feature_has_one_sorted_row() {
        for (at, row) in HNS_FEATURES.iter().enumerate() {
            assert_eq!(hns_feature(row.feature), HNS_FEATURES.get(at));
            assert!(row.since.is_sorted() && !row.since.is_empty());
        }
        assert!(!has(HnsFeature::ModifyLoadBalancer, 15, 4));
        assert!(!has(HnsFeature::CustomVxlanPort, 9, 5));
    }
}
