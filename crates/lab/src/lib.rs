//! A real control plane and Windows hosts on one Linux machine.
//!
//! The lab is made of capsules (a process with namespaces of its own per host,
//! [`capsule`]), on a bridge that nothing leaves ([`network`]). The verbs of
//! `casement lab` are [`up`], [`status`], [`exec`], [`reboot`] and [`down`];
//! everything else is what runs inside a host, or what is built once.

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
