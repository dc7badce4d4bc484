//! What is told of downloads that could not be pinned.

use casement_diag::Problem;
use casement_lock::{NotCovered, ResolveError, Wanted, WantedContent};

use super::world::NoAnswer;

/// The catalog has no answer for this Kubernetes.
pub fn not_covered(error: &NotCovered) -> Problem {
    Problem::new(
        "CAS-LOCK-009",
        error.to_string(),
        "say it with runtime.version, or use a casement that knows this release",
    )
    .seen(
        "known are",
        format!(
            "Kubernetes {} to {}",
            casement_catalog::Minor::OLDEST,
            casement_catalog::Minor::NEWEST
        ),
    )
}

/// One artifact could not be pinned.
pub fn unresolved(error: &ResolveError<NoAnswer>, wanted: &Wanted) -> Problem {
    let what = error.to_string();
    match error {
        ResolveError::Missing { .. } => match &wanted.content {
            WantedContent::Own(_) => Problem::new(
                "CAS-LOCK-003",
                what,
                format!("mend artifacts.overrides.{} in the cluster file", wanted.name),
            ),
            WantedContent::Published(release) => Problem::new(
                "CAS-LOCK-003",
                what,
                "put it there (a mirror holds each download below the name of its host), or take another version",
            )
            .seen("version", &release.version),
        },
        ResolveError::Sums { .. } => Problem::new(
            "CAS-LOCK-004",
            what,
            "mend that file, or remove it: without it the download itself is hashed",
        ),
        ResolveError::Changed { before, now, .. } => Problem::new(
            "CAS-LOCK-005",
            what,
            "find out who replaced it; to take it all the same, remove its entry from the lock file and run casement lock again",
        )
        .seen("pinned", format!("{} ({})", before.0, before.1))
        .seen("now", format!("{} ({})", now.0, now.1)),
        ResolveError::Source(answer) => Problem::new(
            "CAS-LOCK-006",
            format!("`{}` cannot be asked for at {}", wanted.name, answer.place),
            "check the way there (HTTPS_PROXY is honoured), or name a mirror that can be reached: artifacts.mirror, or --mirror URL-or-folder",
        )
        .seen("it says", &answer.said),
    }
}
