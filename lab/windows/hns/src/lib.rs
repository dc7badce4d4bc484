//! `computenetwork.dll` and `vmcompute.dll` for the lab's Windows hosts.
//!
//! Wine has neither. One file serves as both: the 35 functions of the second
//! generation and `HNSCall` of the first. It holds no state; every call goes to
//! the host's `netd`, which is the HNS.
#![cfg(windows)]

mod calls;
mod exports;
mod memory;
mod netd;
