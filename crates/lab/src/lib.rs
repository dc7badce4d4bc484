//! A real control plane and Windows hosts on one Linux machine.
//!
//! Each lab host is a process tree in its own namespaces ([`host`]), connected
//! to an isolated bridge ([`network`]). The `casement lab` commands are [`up`],
//! [`status`], [`exec`], [`reboot`] and [`down`].

pub mod check;
pub mod command;
pub mod containers;
pub mod control_plane;
pub mod down;
pub mod exec;
pub mod host;
pub mod network;
pub mod problem;
pub mod progress;
pub mod random;
pub mod reboot;
pub mod state;
pub mod status;
pub mod up;
pub mod wait;
pub mod wine;
