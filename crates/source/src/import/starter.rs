//! A cluster file to start with.

use super::draft::Draft;

pub fn starter() -> Draft {
    Draft {
        text: include_str!("starter.yaml").to_owned(),
        notes: Vec::new(),
    }
}
