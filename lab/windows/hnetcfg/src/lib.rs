//! `hnetcfg.dll` and `wbemprox.dll` for the lab's Windows hosts: the firewall's
//! objects, and those of two settings of the network.
//!
//! Wine's own has the classes and none of the functions behind them. Here,
//! `INetFwPolicy2` gives its rules, and rules can be listed, looked up, added,
//! changed and removed. They are kept where Windows keeps them, in the registry
//! and in the same notation, so that `reg` shows them. No packet obeys them.
//!
//! Of Windows Management Instrumentation there are the dynamic ports of TCP and
//! UDP, also in the registry, and nothing else.
//!
//! Needs the overrides `hnetcfg=native` and `wbemprox=native`; Wine has
//! registered the classes.
#![cfg(windows)]
#![allow(unsafe_code, reason = "a DLL of objects over the Windows API")]

mod class;
#[path = "enumerator.rs"]
mod each;
mod object;
mod policy;
mod rule;
mod rules;
mod settings;
mod store;
mod wmi;
