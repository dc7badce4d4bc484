//! Updates of Windows that a node needs, and those that break it.

use std::fmt;

use crate::windows::Build;

/// What a node is used for that an update matters to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Being a node at all.
    Node,
    /// Overlay networks.
    Overlay,
    /// Direct server return.
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

/// The oldest revision of a build that serves a purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Floor {
    /// The build.
    pub build: u32,
    /// The first revision that will do.
    pub revision: u32,
    /// The update that brings it.
    pub update: &'static str,
    /// What it is needed for.
    pub purpose: Purpose,
    /// Where it says so.
    pub source: &'static str,
}

/// All floors, by build.
pub const UPDATE_FLOORS: &[Floor] = &[
    Floor {
        build: 17763,
        revision: 379,
        update: "KB4489899",
        purpose: Purpose::Overlay,
        source: "MicrosoftDocs/Virtualization-Documentation: network topologies on Kubernetes",
    },
    // Calico lets 17763.1432 pass, but that one drops DSR's layer: see the faults.
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

/// Revisions of a build that break something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The build.
    pub build: u32,
    /// The first revision with the fault.
    pub from: u32,
    /// The first one without it.
    pub until: u32,
    /// The update that brought it.
    pub brought_by: &'static str,
    /// The update that mends it.
    pub mended_by: &'static str,
    /// What it matters to.
    pub purpose: Purpose,
    /// What happens.
    pub what: &'static str,
    /// Where it says so.
    pub source: &'static str,
}

/// All faults, by build.
pub const KNOWN_BAD: &[Fault] = &[
    Fault {
        build: 17763,
        from: 1432,
        until: 1554,
        brought_by: "KB4571748",
        mended_by: "KB4580390",
        purpose: Purpose::Node,
        what: "pods lose services when the host networking service restarts",
        source: "microsoft/Windows-Containers#61",
    },
    Fault {
        build: 20348,
        from: 2582,
        until: 2762,
        brought_by: "KB5040437",
        mended_by: "KB5044281",
        purpose: Purpose::Node,
        what: "pods reach nothing (ping: General failure)",
        source: "microsoft/Windows-Containers#516; projectcalico/calico#9019; mended: projectcalico/calico#8529",
    },
    Fault {
        build: 26100,
        from: 0,
        until: 6899,
        brought_by: "the release itself",
        mended_by: "KB5066835",
        purpose: Purpose::Overlay,
        what: "pods on overlay networks have no network",
        source: "rancher/rancher#50915 (mend announced for the updates of October 2025)",
    },
];

/// The floors of a build for a purpose; what serves any node serves each purpose.
pub fn update_floors(build: u32, purpose: Purpose) -> impl Iterator<Item = &'static Floor> {
    let wanted = move |floor: &&Floor| {
        floor.build == build && (floor.purpose == purpose || floor.purpose == Purpose::Node)
    };
    UPDATE_FLOORS.iter().filter(wanted)
}

/// The faults of a build that matter to a purpose; none where the revision is not
/// known.
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

    fn mends(build: &str, purpose: Purpose) -> Vec<&'static str> {
        let faults = known_faults(build.parse().unwrap(), purpose);
        faults.map(|fault| fault.mended_by).collect()
    }

    #[test]
    fn the_update_of_july_2024_breaks_2022_until_october() {
        assert_eq!(mends("20348.2581", Purpose::Node), [""; 0]);
        assert_eq!(mends("20348.2582", Purpose::Node), ["KB5044281"]);
        assert_eq!(mends("20348.2761", Purpose::Overlay), ["KB5044281"]);
        assert_eq!(mends("20348.2762", Purpose::Node), [""; 0]);
        assert_eq!(mends("20348", Purpose::Node), [""; 0], "nobody knows");
    }

    #[test]
    fn server_2025_is_bad_for_overlays_only() {
        assert_eq!(mends("26100.4061", Purpose::Overlay), ["KB5066835"]);
        assert_eq!(mends("26100.4061", Purpose::Node), [""; 0]);
        assert_eq!(mends("26100.6899", Purpose::Overlay), [""; 0]);
    }

    #[test]
    fn floors_of_2019_rise_with_what_is_asked() {
        let highest = |purpose| {
            let floors = update_floors(17763, purpose);
            floors.map(|floor| floor.revision).max()
        };
        assert_eq!(highest(Purpose::Overlay), Some(1518));
        assert_eq!(highest(Purpose::Dsr), Some(1554));
        assert_eq!(update_floors(26100, Purpose::Dsr).count(), 0);
    }

    #[test]
    fn a_fault_ends_after_it_begins_and_no_two_of_one_purpose_overlap() {
        for (at, fault) in KNOWN_BAD.iter().enumerate() {
            assert!(fault.from < fault.until, "{fault:?}");
            let others = KNOWN_BAD.iter().skip(at + 1);
            let mut same =
                others.filter(|other| other.build == fault.build && other.purpose == fault.purpose);
            assert!(same.all(|other| other.from >= fault.until || other.until <= fault.from));
        }
    }
}
