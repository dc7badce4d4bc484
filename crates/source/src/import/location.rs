//! Files as they were given, and places in them.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use casement_diag::{FieldPath, Part, Source};

use crate::secrets;

/// A file that was read already.
#[derive(Clone, PartialEq, Eq)]
pub struct TextFile {
    /// What it is called in messages.
    pub name: String,
    /// What it says.
    pub text: String,
}

impl TextFile {
    /// A file of this name and text.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            text: text.into(),
        }
    }

    /// The same for showing: secrets are blanked out.
    pub fn shown(&self) -> impl Source + use<> {
        Shown {
            name: self.name.clone(),
            text: secrets::blanked(&self.text, &secrets::ranges_in_lines(&self.text)),
        }
    }
}

/// An inventory may hold passwords: its text is not for logs.
impl fmt::Debug for TextFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.text.len();
        write!(f, "TextFile({:?}, {bytes} bytes)", self.name)
    }
}

struct Shown {
    name: String,
    text: String,
}

impl Source for Shown {
    fn name(&self) -> &str {
        &self.name
    }

    fn text(&self) -> &str {
        &self.text
    }

    fn range(&self, _: &FieldPath, part: &Part) -> Option<Range<usize>> {
        match part {
            Part::Bytes(range) => Some(range.clone()),
            Part::Key | Part::Value => None,
        }
    }
}

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// What the file is called.
    pub file: Arc<str>,
    /// From 1.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}
