//! Source files of an import and locations in them.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use casement_diag::{FieldPath, Part, Source};

use crate::secrets;

#[derive(Clone, PartialEq, Eq)]
pub struct TextFile {
    pub name: String,
    pub text: String,
}

impl TextFile {
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            text: text.into(),
        }
    }

    /// For diagnostics, with secrets masked.
    pub fn masked(&self) -> impl Source + use<> {
        MaskedFile {
            name: self.name.clone(),
            text: secrets::masked(&self.text, &secrets::ranges_in_lines(&self.text)),
        }
    }
}

/// Without the text: an inventory may contain passwords.
impl fmt::Debug for TextFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.text.len();
        write!(f, "TextFile({:?}, {bytes} bytes)", self.name)
    }
}

struct MaskedFile {
    name: String,
    text: String,
}

impl Source for MaskedFile {
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

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceLocation {
    pub file: Arc<str>,
    /// Starts at 1.
    pub line: usize,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}
