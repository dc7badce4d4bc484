//! The hosts of a lab, each in namespaces of its own, with OpenSSH in front of it.

pub mod capsule;
pub mod furnish;
pub mod init;
pub mod linux_host;
pub mod neighbour;
pub mod ssh;
pub mod windows_host;
