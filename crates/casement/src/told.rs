//! Failures of a run, in words.

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
        RunError::Busy { busy, .. } => Problem::new(
            "CAS-RUN-002",
            error.to_string(),
            "wait until that run is done; if its controller is gone, run `casement apply` again",
        )
        .seen("held by", &busy.holder.controller)
        .seen("run", &busy.holder.run),
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

fn remote(error: &RemoteError) -> Problem {
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
