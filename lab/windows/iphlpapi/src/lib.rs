//! `iphlpapi.dll` for the lab's Windows hosts.
//!
//! Wine's library lists adapters, addresses and routes, but cannot change them.
//! This library forwards everything that Wine implements to a copy of Wine's
//! library named `iphlpw.dll` (`forwards.def`; it has no Unix part, so a renamed
//! copy works) and adds what is missing:
//!
//! * [`routes`], [`addresses`], [`interfaces`]: sent to `netd`, which has the
//!   privileges and the network namespace to make the change,
//! * [`names`]: Windows names of adapters.
//!
//! Needs the override `iphlpapi=native`, and `iphlpw.dll` in the same directory.
#![cfg(windows)]
#![allow(unsafe_code, reason = "a DLL of C functions over the Windows API")]

mod addresses;
mod interfaces;
mod names;
mod netd;
mod routes;
mod sockaddr;
mod wine;
