//! A cluster file to begin with.

use super::draft::Draft;

/// A file with every part that most people need, and a word on each.
pub fn starter() -> Draft {
    Draft {
        text: include_str!("starter.yaml").to_owned(),
        notes: Vec::new(),
    }
}
