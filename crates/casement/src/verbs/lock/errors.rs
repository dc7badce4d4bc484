//! Problems for downloads that cannot be pinned.

use casement_diag::Problem;
use casement_lock::{NotCovered, RequiredContent, Requirement, ResolveError};

use super::reader::ReadError;

/// The catalog does not cover this Kubernetes version.
pub fn not_covered(error: &NotCovered) -> Problem {
    Problem::new(
        "CAS-LOCK-009",
        error.to_string(),
        "set `runtime.version`, or use a version of casement that supports this release",
    )
    .detail(
        "supported",
        format!(
            "Kubernetes {} to {}",
            casement_catalog::Minor::OLDEST,
            casement_catalog::Minor::NEWEST
        ),
    )
}

pub fn unresolved(error: &ResolveError<ReadError>, requirement: &Requirement) -> Problem {
    let what = error.to_string();
    match error {
        ResolveError::Missing { .. } => match &requirement.content {
            RequiredContent::Own(_) => Problem::new(
                "CAS-LOCK-003",
                what,
                format!("fix `artifacts.overrides.{}` in the cluster file", requirement.name),
            ),
            RequiredContent::Published(release) => Problem::new(
                "CAS-LOCK-003",
                what,
                "add it to the mirror (in a directory with the host name of the download), or use another version",
            )
            .detail("version", &release.version),
        },
        ResolveError::Sums { .. } => Problem::new(
            "CAS-LOCK-004",
            what,
            "fix or remove that file; without it, the download itself is hashed",
        ),
        ResolveError::Changed { before, now, .. } => Problem::new(
            "CAS-LOCK-005",
            what,
            "check why the publisher replaced it; to accept the new file, remove its entry from the lock file and run `casement lock` again",
        )
        .detail("pinned", format!("{} ({})", before.0, before.1))
        .detail("now", format!("{} ({})", now.0, now.1)),
        ResolveError::Source(error) => Problem::new(
            "CAS-LOCK-006",
            format!("failed to read `{}` from {}", requirement.name, error.location),
            "check the connection (HTTPS_PROXY is supported), or use a mirror: `artifacts.mirror`, or `--mirror URL-or-directory`",
        )
        .detail("cause", &error.reason),
    }
}
