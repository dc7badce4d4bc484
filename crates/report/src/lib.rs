//! Renders a run as one HTML page: summary, topology, timeline, changes and errors.
//! The page has no scripts and loads no external resources.
//!
//! Pure: maps a run record and a spec to text.

// This crate is pure; see clippy.toml.
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod page;
mod run;
mod time;
mod timeline;
mod topology;

pub use page::page;
pub use run::{CUT_OFF, Change, HostRun, ReadError, Run, Span, StepRun, StepState};
