//! Where paths lie in a text.

use std::ops::Range;

use crate::path::{FieldPath, Part};

/// A text that findings can point into.
pub trait Source {
    /// What the text is called, usually its file name as the user gave it.
    fn name(&self) -> &str;

    /// The text as it may be shown: same length and lines as the original,
    /// secrets blanked out.
    fn text(&self) -> &str;

    /// The bytes that a finding should underline; for a path that is not in the
    /// text, the nearest thing around it. `None` if there is nothing to show.
    fn range(&self, path: &FieldPath, part: &Part) -> Option<Range<usize>>;
}

/// Several texts. What names none of them is about the first.
#[derive(Clone, Copy, Default)]
pub struct Sources<'a>(&'a [&'a dyn Source]);

impl<'a> Sources<'a> {
    /// The texts, the one that nameless findings are about first.
    pub fn new(sources: &'a [&'a dyn Source]) -> Self {
        Self(sources)
    }

    /// The text of that name.
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

/// Line and column of a byte, both from 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Position {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
}

impl Position {
    /// The position of a byte; past the end it is the end.
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

/// A range that can be cut out of the text: within it, on character borders.
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
