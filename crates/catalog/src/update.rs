//! Windows updates that nodes require, and those that break them.

use std::fmt;

use crate::windows::Build;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    Node,
    Overlay,
    Dsr,
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Node => "node",
            Self::Overlay => "overlay",
            Self::Dsr => "dsr",
        })
    }
}

/// The minimum revision of a build for a purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Floor {
    pub build: u32,
    pub revision: u32,
    pub update: &'static str,
    pub purpose: Purpose,
    pub source: &'static str,
}

pub const UPDATE_FLOORS: &[Floor] = &[
    Floor {
        build: 17763,
        revision: 379,
        update: "KB4489899",
        purpose: Purpose::Overlay,
        source: "MicrosoftDocs/Virtualization-Documentation: network topologies on Kubernetes",
    },
    // Calico accepts 17763.1432, but that revision breaks DSR: see `KNOWN_BAD`.
    Floor {
        build: 17763,
        revision: 1554,
        update: "KB4580390",
        purpose: Purpose::Dsr,
        source: "microsoft/Windows-Containers#61",
    },
    Floor {
        build: 17763,
        revision: 1518,
        update: "KB4577668",
        purpose: Purpose::Node,
        source: "antrea-io/antrea#1429 (reported by users)",
    },
    Floor {
        build: 20348,
        revision: 681,
        update: "KB5012637",
        purpose: Purpose::Node,
        source: "openshift/windows-machine-config-operator:docs/vsphere_ci/scripts/install-kb5012637.ps1",
    },
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub build: u32,
    pub from: u32,
    pub until: u32,
    pub introduced_by: &'static str,
    pub fixed_by: &'static str,
    pub purpose: Purpose,
    pub what: &'static str,
    pub source: &'static str,
}

pub const KNOWN_BAD: &[Fault] = &[
    Fault {
        build: 17763,
        from: 1432,
        until: 1554,
        introduced_by: "KB4571748",
        fixed_by: "KB4580390",
        purpose: Purpose::Node,
        what: "pods lose access to services when the host networking service restarts",
        source: "microsoft/Windows-Containers#61",
    },
    Fault {
        build: 20348,
        from: 2582,
        until: 2762,
        introduced_by: "KB5040437",
        fixed_by: "KB5044281",
        purpose: Purpose::Node,
        what: "pods have no connectivity (ping: General failure)",
        source: "microsoft/Windows-Containers#516; projectcalico/calico#9019; fixed: projectcalico/calico#8529",
    },
    Fault {
        build: 26100,
        from: 0,
        until: 6899,
        introduced_by: "initial release",
        fixed_by: "KB5066835",
        purpose: Purpose::Overlay,
        what: "pods on overlay networks have no network",
        source: "rancher/rancher#50915 (fix announced for the October 2025 updates)",
    },
];

/// Includes the floors that apply to every node.
pub fn update_floors(build: u32, purpose: Purpose) -> impl Iterator<Item = &'static Floor> {
    let applies = move |floor: &&Floor| {
        floor.build == build && (floor.purpose == purpose || floor.purpose == Purpose::Node)
    };
    UPDATE_FLOORS.iter().filter(applies)
}

/// Empty if the revision is unknown.
pub fn known_faults(build: Build, purpose: Purpose) -> impl Iterator<Item = &'static Fault> {
    let has = move |fault: &&Fault| {
        let hit = |revision| (fault.from..fault.until).contains(&revision);
        fault.build == build.number
            && build.revision.is_some_and(hit)
            && (fault.purpose == purpose || fault.purpose == Purpose::Node)
    };
    KNOWN_BAD.iter().filter(has)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixes(build: &str, purpose: Purpose) -> Vec<&'static str> {
        let faults = known_faults(build.parse().unwrap(), purpose);
        faults.map(|fault| fault.fixed_by).collect()
    }

    #[test]
    fn the_update_of_july_2024_breaks_2022_until_october() {
        assert_eq!(fixes("20348.2581", Purpose::Node), [""; 0]);
        assert_eq!(fixes("20348.2582", Purpose::Node), ["KB5044281"]);
        assert_eq!(fixes("20348.2761", Purpose::Overlay), ["KB5044281"]);
        assert_eq!(fixes("20348.2762", Purpose::Node), [""; 0]);
        assert_eq!(fixes("20348", Purpose::Node), [""; 0], "unknown revision");
    }

    #[test]
    fn server_2025_only_breaks_overlays() {
        assert_eq!(fixes("26100.4061", Purpose::Overlay), ["KB5066835"]);
        assert_eq!(fixes("26100.4061", Purpose::Node), [""; 0]);
        assert_eq!(fixes("26100.6899", Purpose::Overlay), [""; 0]);
    }

    #[test]
    fn floors_of_2019_depend_on_the_purpose() {
        let highest = |purpose| {
            let floors = update_floors(17763, purpose);
            floors.map(|floor| floor.revision).max()
        };
        assert_eq!(highest(Purpose::Overlay), Some(1518));
        assert_eq!(highest(Purpose::Dsr), Some(1554));
        assert_eq!(update_floors(26100, Purpose::Dsr).count(), 0);
    }

    #[test]
    fn faults_of_one_purpose_do_not_overlap() {
        for (at, fault) in KNOWN_BAD.iter().enumerate() {
            assert!(fault.from < fault.until, "{fault:?}");
            let others = KNOWN_BAD.iter().skip(at + 1);
            let mut same =
                others.filter(|other| other.build == fault.build && other.purpose == fault.purpose);
            assert!(same.all(|other| other.from >= fault.until || other.until <= fault.from));
        }
    }
}
