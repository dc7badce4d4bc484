//! `hnetcfg.dll` and `wbemprox.dll` for the lab's Windows hosts: the COM objects
//! of the firewall, and WMI objects for two network settings.
//!
//! Wine has the classes, but does not implement their functions. Here,
//! `INetFwPolicy2` returns rules, which can be listed, looked up, added, changed
//! and removed. They are stored as on Windows, in the same registry key and
//! format, so that `reg` shows them. They do not filter packets.
//!
//! Of Windows Management Instrumentation, only the dynamic port ranges of TCP and
//! UDP are implemented, also stored in the registry.
//!
//! Needs the overrides `hnetcfg=native` and `wbemprox=native`; Wine registers
//! the classes.
#![cfg(windows)]
#![allow(unsafe_code, reason = "a DLL of COM objects over the Windows API")]

mod class;
mod enumerator;
mod object;
mod policy;
mod rule;
mod rules;
mod settings;
mod store;
mod wmi;
