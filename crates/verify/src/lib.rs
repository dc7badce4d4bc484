//! What is wrong with a cluster, from what was seen of it: the checks behind
//! `casement doctor`.
//!
//! Nothing is looked at here: hosts and cluster come as [`Seen`], and findings go
//! out, each with a code, the values that disagree and a remedy. Of a chain of
//! consequences only its beginning is told.

mod doctor;
mod host;
mod page;
mod pods;
#[path = "observation.rs"]
mod seen;

pub use doctor::{Finding, diagnose};
pub use page::explain;
pub use seen::{HostSeen, NodeSeen, PodSeen, RequestSeen, Seen, StepSeen, Wanted};
