//! `hnetcfg.dll` for the lab's Windows hosts: the firewall's objects.
//!
//! Wine's own has the classes and none of the functions behind them. Here,
//! `INetFwPolicy2` gives its rules, and rules can be listed, looked up, added,
//! changed and removed. They are kept where Windows keeps them, in the registry
//! and in the same notation, so that `reg` shows them. No packet obeys them.
//!
//! Needs the override `hnetcfg=native`; Wine has registered the classes.
#![cfg(windows)]
#![allow(unsafe_code, reason = "a DLL of objects over the Windows API")]

mod class;
mod each;
mod object;
mod policy;
mod rule;
mod rules;
mod store;
