//! Failures of a run, in words.

use std::time::{SystemTime, UNIX_EPOCH};

use casement_cluster::ClusterError;
use casement_diag::Problem;
use casement_remote::RemoteError;
use casement_resource::Failure;
use casement_run::RunError;

/// What a person is told about a failure of a run.
pub fn problem(error: &RunError) -> Problem {
    match error {
        RunError::Remote(error) => remote(error),
        RunError::Cluster(error) => cluster(error),
        RunError::Agent { host, failure } => step(host, failure),
        RunError::NodeNot { last, .. } => Problem::new(
            "CAS-JOIN-001",
            error.to_string(),
            "`casement status` shows the host; its logs are in C:\\var\\log",
        )
        .seen("last seen", last),
        RunError::Unfit(problems) => unfit(error, problems),
        RunError::Outage(changes) => Problem::new(
            "CAS-API-015",
            error.to_string(),
            "choose the hour, and say so: --allow-network-outage",
        )
        .seen("changes", changes.join("\n")),
        RunError::Busy { busy, .. } => Problem::new(
            "CAS-RUN-002",
            error.to_string(),
            "wait until that run is done; if its controller is gone, run `casement apply` again",
        )
        .seen("held by", &busy.holder.controller)
        .seen("run", &busy.holder.run)
        .seen("for", held_for(busy.holder.since, now())),
        RunError::Cut { said, .. } => Problem::new(
            "CAS-RUN-003",
            error.to_string(),
            "casement apply goes on from where it was",
        )
        .seen("it said", if said.is_empty() { "(nothing)" } else { said }),
        RunError::Plan(_) => Problem::new(
            "CAS-PLAN-001",
            error.to_string(),
            "mend the cluster file and run the command again",
        ),
        other => Problem::new(
            "CAS-RUN-001",
            other.to_string(),
            "casement apply goes on from where it was",
        ),
    }
}

/// One reason is told as it is; several in one list, each with its own way on.
fn unfit(error: &RunError, problems: &[Problem]) -> Problem {
    if let [problem] = problems {
        return problem.clone();
    }
    let whole = Problem::new(
        "CAS-FIT-000",
        error.to_string(),
        "mend each of these; nothing was changed",
    );
    problems.iter().fold(whole, |whole, problem| {
        let seen = problem
            .seen
            .iter()
            .map(|(label, value)| format!("{label} {value}"));
        let seen = seen.collect::<Vec<_>>().join(", ");
        let text = format!("{}\n{seen}\n{}", problem.what, problem.remedy);
        whole.seen(problem.code.clone(), text)
    })
}

/// Seconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}

/// How long a host has been held: by its own clock, which need not agree with
/// this machine's.
fn held_for(since: u64, now: u64) -> String {
    match now.checked_sub(since) {
        Some(seconds @ 0..60) => format!("{seconds} s"),
        Some(seconds @ 60..3600) => format!("{} min", seconds / 60),
        Some(seconds @ 3600..31_536_000) => {
            format!("{} h {} min", seconds / 3600, seconds % 3600 / 60)
        }
        _ => "an unknown time: the host's clock does not agree with this one".to_owned(),
    }
}

/// A failure on the way to a host.
pub fn remote(error: &RemoteError) -> Problem {
    let problem = Problem::new(error.code(), error.to_string(), error.remedy());
    with(problem, error.details())
}

/// A failure of the cluster's side.
pub fn cluster(error: &ClusterError) -> Problem {
    let problem = Problem::new(error.code(), error.to_string(), error.remedy());
    with(problem, error.details())
}

/// A failure that an agent told of.
pub fn step(host: &str, failure: &Failure) -> Problem {
    let code = failure.code.to_string();
    let mut problem = Problem::new(code, failure.what.clone(), failure.remedy.clone());
    problem = problem.seen("host", host);
    let values = [("wanted", &failure.wanted), ("found", &failure.found)];
    for (label, value) in values {
        if let Some(value) = value {
            problem = problem.seen(label, value);
        }
    }
    problem
}

fn with(problem: Problem, details: Vec<(String, String)>) -> Problem {
    details
        .into_iter()
        .fold(problem, |problem, (label, value)| {
            problem.seen(label, value)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_has_an_age_unless_the_clocks_disagree() {
        assert_eq!(held_for(100, 142), "42 s");
        assert_eq!(held_for(100, 700), "10 min");
        assert_eq!(held_for(100, 9100), "2 h 30 min");
        for odd in [held_for(200, 100), held_for(0, 1_800_000_000)] {
            assert!(odd.starts_with("an unknown time"), "{odd}");
        }
    }
}
