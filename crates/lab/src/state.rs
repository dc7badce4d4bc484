//! The lab's directory: its record, lock and the files for the user.

pub mod files;
pub mod lock;
pub mod paths;
pub mod record;
pub mod space;
