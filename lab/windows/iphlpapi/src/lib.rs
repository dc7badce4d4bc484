//! `iphlpapi.dll` for the lab's Windows hosts.
//!
//! Wine's own shows adapters, addresses and routes, but cannot change them.
//! This library leaves everything that Wine has to a copy of Wine's own under
//! the name `iphlpw.dll` (`forwards.def`; it has no Unix side, so a renamed
//! copy works) and adds what is missing:
//!
//! * [`routes`], [`addresses`], [`interfaces`]: handed to `netd`, which has
//!   the rights and the namespace to carry them out,
//! * [`names`]: the names that Windows gives to adapters.
//!
//! Needs the override `iphlpapi=native` and `iphlpw.dll` beside it.
#![cfg(windows)]
#![allow(unsafe_code, reason = "a DLL of C functions over the Windows API")]

mod addresses;
#[path = "netd.rs"]
mod door;
mod interfaces;
mod names;
mod routes;
mod sockaddr;
mod wine;
