//! Importers: convert the configuration of other tools into a cluster file.
//!
//! [`ansible`] reads inventories the way Ansible does. The result is a [`Draft`]:
//! a cluster file with the source of each value in comments, and notes about
//! everything that was not imported. Nothing is dropped silently, and secrets are
//! never copied.
//!
//! Importers do no I/O: the caller reads the inventory and the files next to it.

pub mod ansible;
mod codes;
mod draft;
mod inventory_draft;
mod kubeinit;
mod location;
mod script_args;
mod starter;
mod yaml_writer;

pub use draft::{Draft, Note, NoteKind};
pub use inventory_draft::from_inventory;
pub use kubeinit::{KubeInit, from_kubeinit};
pub use location::{SourceLocation, TextFile};
pub use script_args::from_script_args;
pub use starter::starter;
