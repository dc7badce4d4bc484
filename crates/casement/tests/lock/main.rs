//! `casement lock`, as a person calls it, with mirrors on this machine.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

#[path = "local_mirror.rs"]
mod folder;
mod mishaps;
#[path = "workspace.rs"]
mod place;
mod server;
#[path = "web_mirror.rs"]
mod web;
