//! Errors of a run as problems for the user.

use std::time::{SystemTime, UNIX_EPOCH};

use casement_cluster::ClusterChange;
use casement_diag::Problem;
use casement_resource::Failure;
use casement_resource::host_paths::WINDOWS_LOGS;
use casement_run::RunError;

pub fn problem(error: &RunError) -> Problem {
    match error {
        RunError::Remote(error) => error.problem(),
        RunError::Cluster(error) => error.problem(),
        RunError::Agent { host, failure } => step(host, failure),
        RunError::NodeTimeout { last, .. } => Problem::new(
            "CAS-JOIN-001",
            error.to_string(),
            format!(
                "run `casement doctor` to find the cause; logs are in {WINDOWS_LOGS} on the host"
            ),
        )
        .detail("last status", last),
        RunError::PreflightFailed(problems) => preflight(error, problems),
        RunError::Outage(changes) => Problem::new(
            "CAS-API-015",
            error.to_string(),
            "when an outage is acceptable, run the command again with `--allow-network-outage`",
        )
        .detail("changes", lines(changes)),
        RunError::Busy { busy, .. } => Problem::new(
            "CAS-RUN-002",
            error.to_string(),
            "wait until that run has finished; if its controller is no longer running, run the command again",
        )
        .detail("locked by", &busy.holder.controller)
        .detail("run", &busy.holder.run)
        .detail("for", lock_age(busy.holder.since, now())),
        RunError::ConnectionLost { noise, .. } => Problem::new(
            "CAS-RUN-003",
            error.to_string(),
            "run the command again to resume",
        )
        .detail("output", if noise.is_empty() { "(none)" } else { noise }),
        RunError::Plan(_) => Problem::new(
            "CAS-PLAN-001",
            error.to_string(),
            "fix the cluster file and run the command again",
        ),
        other => Problem::new(
            "CAS-RUN-001",
            other.to_string(),
            "run the command again to resume",
        ),
    }
}

fn lines(changes: &[ClusterChange]) -> String {
    let lines = changes.iter().map(crate::changes::line);
    lines.collect::<Vec<_>>().join("\n")
}

/// A single problem is shown as it is; several become one list with the help of each.
fn preflight(error: &RunError, problems: &[Problem]) -> Problem {
    if let [problem] = problems {
        return problem.clone();
    }
    let all = Problem::new(
        "CAS-FIT-000",
        error.to_string(),
        "fix these problems and run the command again; no changes were made",
    );
    problems.iter().fold(all, |all, problem| {
        let details = problem.detail.iter();
        let details = details.map(|(label, value)| format!("{label} {value}"));
        let details = details.collect::<Vec<_>>().join(", ");
        let text = format!("{}\n{details}\n{}", problem.what, problem.help);
        all.detail(problem.code.clone(), text)
    })
}

/// Seconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}

/// How long a host has been locked. `since` is from the host's clock, which may differ
/// from this one.
fn lock_age(since: u64, now: u64) -> String {
    match now.checked_sub(since) {
        Some(seconds @ 0..60) => format!("{seconds} s"),
        Some(seconds @ 60..3600) => format!("{} min", seconds / 60),
        Some(seconds @ 3600..31_536_000) => {
            format!("{} h {} min", seconds / 3600, seconds % 3600 / 60)
        }
        _ => "an unknown time: the clocks of the host and this computer differ".to_owned(),
    }
}

pub fn step(host: &str, failure: &Failure) -> Problem {
    let mut problem = casement_report::problem(failure);
    let host = ("host".to_owned(), host.to_owned());
    problem.detail.insert(0, host);
    problem
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_age_is_unknown_if_clocks_differ() {
        assert_eq!(lock_age(100, 142), "42 s");
        assert_eq!(lock_age(100, 700), "10 min");
        assert_eq!(lock_age(100, 9100), "2 h 30 min");
        for odd in [lock_age(200, 100), lock_age(0, 1_800_000_000)] {
            assert!(odd.starts_with("an unknown time"), "{odd}");
        }
    }
}
