//! The lab's `containerd-shim-runhcs-v1.exe`: containers without Windows.
//!
//! containerd.exe starts one shim per pod and sends it task API requests, which
//! Microsoft's shim implements with the host compute service. This one uses the
//! host's `netd`, which runs the processes of a container outside the host's
//! Wine prefix, in the network namespace of the pod. The shim implements the
//! task API itself: states, events, streams, exit codes.
//!
//! The sandbox of a pod needs no process in the lab; it only has a state.

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
    eprintln!("containerd-shim-runhcs-v1: this program runs only on Windows");
}
