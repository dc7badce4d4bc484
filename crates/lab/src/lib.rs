//! A real control plane and Windows hosts on one Linux machine.
//!
//! The lab is made of capsules (a process with namespaces of its own per host,
//! [`capsule`]), on a bridge that nothing leaves ([`network`]). The verbs of
//! `casement lab` are [`up`], [`status`], [`exec`], [`reboot`] and [`down`];
//! everything else is what runs inside a host, or what is built once.

pub mod adapters;
pub mod api;
pub mod capsule;
pub mod check;
pub mod command;
pub mod containers;
pub mod control_plane;
pub mod down;
pub mod exec;
pub mod files;
pub mod furnish;
pub mod hns;
pub mod images;
pub mod init;
pub mod lab_registry;
pub mod linux_host;
pub mod lock;
pub mod neighbour;
pub mod netd;
pub mod network;
pub mod parts;
pub mod places;
pub mod problem;
pub mod progress;
pub mod random;
pub mod reboot;
pub mod record;
pub mod registry;
pub mod registry_file;
pub mod sftp;
pub mod sim;
pub mod space;
pub mod ssh;
pub mod status;
pub mod template;
pub mod up;
pub mod wait;
pub mod windows;
pub mod windows_host;
pub mod windows_parts;
pub mod wine;
