//! What agents do, line by line, and what is remembered of it for the end.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use casement_diag::Problem;
use casement_resource::Failure;
use casement_resource::wire::{Event, What};
use casement_run::RunError;

use crate::{clock, told};

/// Shows events; keeps the last failure of each host, which says more than
/// the run's own word that it failed.
#[derive(Debug, Default)]
pub struct Shown {
    failures: Mutex<BTreeMap<String, Failure>>,
}

impl Shown {
    /// One event of a host's run.
    pub fn event(&self, host: &str, event: &Event) {
        match &event.what {
            What::StepChanged { id, .. } => clock::line(&format!("{host}: {id}")),
            What::StepRemoved { id } => clock::line(&format!("{host}: {id} removed")),
            What::StepFailed { id, failure } => {
                clock::line(&format!("{host}: {id} failed: {}", failure.what));
                let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
                failures.insert(host.to_owned(), failure.clone());
            }
            _ => {}
        }
    }

    /// Why a host's part did not end well.
    pub fn problem(&self, host: &str, error: &RunError) -> Problem {
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        match (error, failures.get(host)) {
            (RunError::Failed { .. }, Some(failure)) => told::step(host, failure),
            _ => told::problem(error),
        }
    }
}
