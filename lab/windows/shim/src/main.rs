//! The lab's `containerd-shim-runhcs-v1.exe`: containers without Windows.
//!
//! containerd.exe starts one of these per pod and asks it, over the task API,
//! for what Microsoft's own shim would do with the host compute service. Here
//! the host's `netd` does it: each container's programs run outside the host's
//! Wine, in the network namespace of their pod. What this program adds is the
//! task API itself: states, events, streams, exit codes.
//!
//! A pod's sandbox needs no process in the lab, so its pause is only a state.

#[cfg(windows)]
mod events;
#[cfg(windows)]
mod logger;
#[cfg(windows)]
mod netd;
#[cfg(windows)]
mod pipe;
#[cfg(windows)]
mod process;
#[cfg(windows)]
mod requests;
#[cfg(windows)]
mod service;
#[cfg(windows)]
mod spec;
#[cfg(windows)]
mod stats;
#[cfg(windows)]
mod streams;
#[cfg(windows)]
mod task;

#[cfg(windows)]
fn main() {
    containerd_shim::run::<service::Service>("io.containerd.runhcs.v1", None);
}

#[cfg(not(windows))]
fn main() {
    eprintln!("containerd-shim-runhcs-v1: this program is for Windows");
}
