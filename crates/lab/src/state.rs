//! The folder of a lab: its record, the files that it leaves for people, its lock.

pub mod files;
pub mod lock;
#[path = "state/paths.rs"]
pub mod places;
pub mod record;
pub mod space;
