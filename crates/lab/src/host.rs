//! Lab hosts, each in its own namespaces, reachable over OpenSSH.

pub mod init;
pub mod instance;
pub mod linux_host;
pub mod linux_node;
pub mod rootfs;
pub mod ssh;
pub mod windows_host;
