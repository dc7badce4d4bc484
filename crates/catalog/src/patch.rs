//! Known issues of Kubernetes on Windows that a patch release fixes.

use semver::Version;

use crate::release::Release;

/// The first patch release without a known issue on Windows nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchFloor {
    pub version: Release,
    pub what: &'static str,
    pub source: &'static str,
}

/// Sorted by version. Older minor releases never got a fix.
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
        what: "Windows containers can run as administrator despite `runAsNonRoot`",
        source: "CVE-2021-25749",
    }
}

const fn pod_commands(minor: u64, patch: u64) -> PatchFloor {
    PatchFloor {
        version: Release::new(1, minor, patch),
        what: "users who can create pods can run commands as administrator on Windows nodes",
        source: "CVE-2023-3676, CVE-2023-3955",
    }
}

const fn volume_commands(minor: u64, patch: u64) -> PatchFloor {
    PatchFloor {
        version: Release::new(1, minor, patch),
        what: "users who can create volumes can run commands as administrator on Windows nodes",
        source: "CVE-2023-5528",
    }
}

const fn logs_readable(minor: u64, patch: u64) -> PatchFloor {
    PatchFloor {
        version: Release::new(1, minor, patch),
        what: "any user of a Windows node can read and change container logs",
        source: "CVE-2024-5321",
    }
}

const fn log_query(minor: u64, patch: u64) -> PatchFloor {
    PatchFloor {
        version: Release::new(1, minor, patch),
        what: "users who can query the logs of a Windows node can run commands on it",
        source: "CVE-2024-9042",
    }
}

/// Issues of a release that a later patch release fixes.
pub fn open_faults(version: &Version) -> impl Iterator<Item = &'static PatchFloor> {
    PATCH_FLOORS.iter().filter(move |floor| {
        floor.version.minor == version.minor && *version < floor.version.version()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patched_release_has_no_open_issue() {
        let open = |minor, patch| {
            let version = Version::new(1, minor, patch);
            let faults = open_faults(&version);
            faults.map(|fault| fault.source).collect::<Vec<_>>()
        };
        assert_eq!(open(29, 6), ["CVE-2024-5321", "CVE-2024-9042"]);
        assert_eq!(open(29, 7), ["CVE-2024-9042"]);
        assert_eq!(open(29, 13), [""; 0]);
        assert_eq!(open(36, 0), [""; 0]);
        // Sorted by version.
        assert_eq!(open(28, 1), ["CVE-2023-5528", "CVE-2024-5321"],);
        assert!(PATCH_FLOORS.is_sorted_by_key(|floor| floor.version.version()));
    }
}
