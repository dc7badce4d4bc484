//! Positions of paths in a text.

use std::ops::Range;

use crate::path::{FieldPath, Part};

pub trait Source {
    /// Usually the file name as the user gave it.
    fn name(&self) -> &str;

    /// The displayable text: same length and lines as the original, secrets masked.
    fn text(&self) -> &str;

    /// The bytes to underline. For a path that is not in the text, the closest
    /// enclosing value. `None` if there is nothing to show.
    fn range(&self, path: &FieldPath, part: &Part) -> Option<Range<usize>>;
}

/// Several texts; a diagnostic without a file refers to the first.
#[derive(Clone, Copy, Default)]
pub struct Sources<'a>(&'a [&'a dyn Source]);

impl<'a> Sources<'a> {
    pub fn new(sources: &'a [&'a dyn Source]) -> Self {
        Self(sources)
    }

    pub fn get(self, name: Option<&str>) -> Option<&'a dyn Source> {
        let found = match name {
            None => self.0.first(),
            Some(name) => self.0.iter().find(|source| source.name() == name),
        };
        found.copied()
    }
}

impl std::fmt::Debug for Sources<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|source| source.name()))
            .finish()
    }
}

/// Both start at 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

impl Position {
    /// Past the end of the text it is the end.
    pub fn of(text: &str, byte: usize) -> Self {
        let mut byte = byte.min(text.len());
        while !text.is_char_boundary(byte) {
            byte -= 1;
        }
        let before = text.get(..byte).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Self {
            line: before.matches('\n').count() + 1,
            column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
        }
    }
}

/// Limits a range to the text and to character boundaries.
pub(crate) fn clamp(text: &str, range: Range<usize>) -> Range<usize> {
    let border = |mut byte: usize| {
        byte = byte.min(text.len());
        while !text.is_char_boundary(byte) {
            byte -= 1;
        }
        byte
    };
    let start = border(range.start);
    start..border(range.end).max(start)
}
