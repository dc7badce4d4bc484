//! `computenetwork.dll` and `vmcompute.dll` for the lab's Windows hosts.
//!
//! Wine has neither. One file serves as both: the 35 functions of the second
//! generation and `HNSCall` of the first. It holds no state; every call goes to
//! the host's `netd`, which is the HNS. Of what else is in `vmcompute.dll` there is
//! `DestroyLayer` only.
#![cfg(windows)]

mod calls;
mod exports;
mod layers;
mod memory;
mod netd;
