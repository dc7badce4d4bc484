//! Maps field paths to positions in the text.

use std::ops::Range;
use std::sync::Arc;

use casement_diag::{FieldPath, Part, Segment, Source};

use crate::node::{Data, Node};
use crate::secrets;

/// The text of a document and the positions of its fields.
///
/// Positions are looked up on demand: most fields of a large document are never
/// needed.
#[derive(Debug, Clone)]
pub struct SourceMap {
    name: String,
    /// With secrets masked.
    text: String,
    root: Option<Arc<Node>>,
}

impl SourceMap {
    pub(crate) fn new(name: &str, text: &str, root: Arc<Node>) -> Self {
        let mut hidden = Vec::new();
        secrets::ranges(&root, &mut hidden);
        Self {
            name: name.to_owned(),
            text: secrets::masked(text, &hidden),
            root: Some(root),
        }
    }

    /// For text that cannot be parsed: only byte ranges have a position.
    pub(crate) fn without_tree(name: &str, text: &str) -> Self {
        Self {
            name: name.to_owned(),
            text: secrets::masked(text, &secrets::ranges_in_lines(text)),
            root: None,
        }
    }

    /// Whether the file sets this field.
    pub fn has(&self, path: &FieldPath) -> bool {
        self.node(path).is_some()
    }

    /// The node at a path, and the range of its key.
    pub(crate) fn node(&self, path: &FieldPath) -> Option<(Option<&Range<usize>>, &Node)> {
        let mut found = (None, self.root.as_deref()?);
        for segment in path.segments() {
            found = match (&found.1.data, segment) {
                (Data::Mapping(entries), Segment::Field(name)) => {
                    let entry = entries.get(name)?;
                    (Some(&entry.key_range), &entry.value)
                }
                (Data::List(items), Segment::Index(index)) => (None, items.get(*index)?),
                _ => return None,
            };
        }
        Some(found)
    }

    /// The range of a field that the text has.
    fn exact_range(&self, path: &FieldPath, part: &Part) -> Option<Range<usize>> {
        if let Part::Bytes(range) = part {
            return Some(range.clone());
        }
        let (key, node) = self.node(path)?;
        let value = Some(&node.range).filter(|range| !range.is_empty());
        match part {
            Part::Key => key.or(value),
            _ => value.or(key),
        }
        .cloned()
    }
}

impl Source for SourceMap {
    fn name(&self) -> &str {
        &self.name
    }

    fn text(&self) -> &str {
        &self.text
    }

    /// For a missing field, the key of its parent. `None` for the document as a
    /// whole.
    fn range(&self, path: &FieldPath, part: &Part) -> Option<Range<usize>> {
        if path.is_root() && !matches!(part, Part::Bytes(_)) {
            return None;
        }
        self.exact_range(path, part)
            .or_else(|| self.range(&path.parent()?, &Part::Key))
    }
}
