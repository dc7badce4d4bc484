//! The record of a run, and the run as one HTML page: summary, topology, timeline, changes
//! and errors. The page has no scripts and loads no external resources.
//!
//! Pure: maps values to text and back. The command line writes and reads the files of a
//! [`record`].

// This crate is pure; see clippy.toml.
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod page;
pub mod record;
mod run;
mod step;
mod time;
mod timeline;
mod topology;

pub use page::page;
pub use run::{HostRun, Run, RunBuilder, StageRun, StepResult, StepRun};
pub use step::{Action, ObjectChange, Step, problem};
