//! The hosts of a lab, each in namespaces of its own, with OpenSSH in front of it.

#[path = "host/instance.rs"]
pub mod capsule;
#[path = "host/rootfs.rs"]
pub mod furnish;
pub mod init;
pub mod linux_host;
#[path = "host/linux_node.rs"]
pub mod neighbour;
pub mod ssh;
pub mod windows_host;
