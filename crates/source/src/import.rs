//! Importers: what other tools were told, as a cluster file.
//!
//! [`ansible`] reads inventories the way Ansible does. What they say becomes a
//! [`Draft`]: a cluster file with comments on where each value came from, and
//! a list of what could not be carried over. Nothing is dropped in silence, and
//! no secret reaches the draft.
//!
//! Text in, text out: which files lie beside an inventory is the caller's to
//! find out.

pub mod ansible;
mod codes;
mod draft;
mod inventory_draft;
mod kubeinit;
#[path = "import/location.rs"]
mod place;
mod script_args;
#[path = "import/yaml_writer.rs"]
mod sheet;
mod starter;

pub use draft::{Draft, Note, NoteKind};
pub use inventory_draft::from_inventory;
pub use kubeinit::{KubeInit, from_kubeinit};
pub use place::{Place, TextFile};
pub use script_args::from_script_args;
pub use starter::starter;
