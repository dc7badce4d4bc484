//! A run as one page: what the cluster is, what happened when, what changed, what
//! went wrong. One HTML file without scripts that asks nobody for anything.
//!
//! Pure: records and a spec come in, text goes out.

mod page;
mod run;
mod time;
mod timeline;
mod topology;

pub use page::page;
pub use run::{CUT_OFF, Change, HostRun, ReadError, Run, Span, StepRun, StepState};
