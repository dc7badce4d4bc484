//! Diagnoses a cluster from observed state: the checks behind `casement doctor`.
//!
//! This crate makes no connections: it maps an [`Observation`] to findings, each
//! with a code, the conflicting values and help. If one failure causes others, only
//! the root cause is reported.

// This crate is pure; see clippy.toml.
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod doctor;
mod host;
mod observation;
mod pods;

pub use doctor::{Finding, diagnose};
pub use observation::{
    ClusterObservation, DriftedStep, ExpectedState, HostObservation, NodeObservation, Observation,
    PendingRequest, PodObservation,
};
