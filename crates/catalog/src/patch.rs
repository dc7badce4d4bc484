//! Faults of Kubernetes on Windows that a patch release mended.

use semver::Version;

use crate::release::Release;

/// The first patch release of a line without a fault that concerns Windows nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchFloor {
    /// The first release of its line without the fault.
    pub version: Release,
    /// The fault.
    pub what: &'static str,
    /// Where it says so.
    pub source: &'static str,
}

/// All of them, by version. Lines before the oldest of a fault have it for ever.
pub const PATCH_FLOORS: &[PatchFloor] = &[
    run_as_non_root(22, 14),
    run_as_non_root(23, 11),
    run_as_non_root(24, 5),
    pod_commands(24, 17),
    pod_commands(25, 13),
    volume_commands(25, 16),
    pod_commands(26, 8),
    volume_commands(26, 11),
    pod_commands(27, 5),
    volume_commands(27, 8),
    logs_readable(27, 16),
    pod_commands(28, 1),
    volume_commands(28, 4),
    logs_readable(28, 12),
    logs_readable(29, 7),
    log_query(29, 13),
    logs_readable(30, 3),
    log_query(30, 9),
    log_query(31, 5),
    log_query(32, 1),
];

const fn run_as_non_root(minor: u64, patch: u64) -> PatchFloor {
    PatchFloor {
        version: Release::new(1, minor, patch),
        what: "a Windows container runs as administrator despite `runAsNonRoot`",
        source: "CVE-2021-25749",
    }
}

const fn pod_commands(minor: u64, patch: u64) -> PatchFloor {
    PatchFloor {
        version: Release::new(1, minor, patch),
        what: "whoever may make pods runs commands on Windows nodes as administrator",
        source: "CVE-2023-3676, CVE-2023-3955",
    }
}

const fn volume_commands(minor: u64, patch: u64) -> PatchFloor {
    PatchFloor {
        version: Release::new(1, minor, patch),
        what: "whoever may make volumes runs commands on Windows nodes as administrator",
        source: "CVE-2023-5528",
    }
}

const fn logs_readable(minor: u64, patch: u64) -> PatchFloor {
    PatchFloor {
        version: Release::new(1, minor, patch),
        what: "any user of a Windows node reads and changes the logs of containers",
        source: "CVE-2024-5321",
    }
}

const fn log_query(minor: u64, patch: u64) -> PatchFloor {
    PatchFloor {
        version: Release::new(1, minor, patch),
        what: "whoever may query a Windows node's logs runs commands on it",
        source: "CVE-2024-9042",
    }
}

/// The faults that a release still has and a later one of its line has not.
pub fn open_faults(version: &Version) -> impl Iterator<Item = &'static PatchFloor> {
    PATCH_FLOORS.iter().filter(move |floor| {
        floor.version.minor == version.minor && *version < floor.version.version()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patched_release_has_no_open_fault() {
        let open = |minor, patch| {
            let version = Version::new(1, minor, patch);
            let faults = open_faults(&version);
            faults.map(|fault| fault.source).collect::<Vec<_>>()
        };
        assert_eq!(open(29, 6), ["CVE-2024-5321", "CVE-2024-9042"]);
        assert_eq!(open(29, 7), ["CVE-2024-9042"]);
        assert_eq!(open(29, 13), [""; 0]);
        assert_eq!(open(36, 0), [""; 0]);
        // The list is by version, each line from its oldest fault on.
        assert_eq!(open(28, 1), ["CVE-2023-5528", "CVE-2024-5321"],);
        assert!(PATCH_FLOORS.is_sorted_by_key(|floor| floor.version.version()));
    }
}
