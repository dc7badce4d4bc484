//! One file per verb: its arguments, what it calls, what it prints.

pub mod access;
pub mod apply;
pub mod catalog;
pub mod converge;
#[cfg(all(unix, feature = "sim"))]
pub mod demo;
pub mod doctor;
pub mod explain;
pub mod init;
pub mod join;
#[cfg(all(unix, feature = "lab"))]
pub mod lab;
pub mod lint;
#[cfg(not(unix))]
pub mod linux_only;
pub mod lock;
pub mod logs;
pub mod plan;
pub mod render;
pub mod report;
pub mod reset;
pub mod sample;
pub mod spec;
pub mod status;
