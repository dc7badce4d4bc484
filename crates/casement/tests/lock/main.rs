//! `casement lock`, as a person calls it, with mirrors on this machine.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod folder;
mod mishaps;
mod place;
mod server;
mod web;
