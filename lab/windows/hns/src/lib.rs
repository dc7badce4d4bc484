//! `computenetwork.dll` and `vmcompute.dll` for the lab's Windows hosts.
//!
//! Wine has neither. One file serves as both: the 35 functions of the HCN (v2)
//! API and `HNSCall` of the v1 API. It holds no state; every call is forwarded
//! to the host's `netd`, which emulates HNS. Of the other functions of
//! `vmcompute.dll`, only `DestroyLayer` is implemented.
#![cfg(windows)]

mod calls;
mod exports;
mod layers;
mod memory;
mod netd;
