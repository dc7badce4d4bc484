//! Where paths lie in the text.

use std::ops::Range;
use std::sync::Arc;

use casement_diag::{FieldPath, Part, Segment, Source};

use crate::node::{Data, Node};
use crate::secrets;

/// The text of a document, and where in it each field stands.
///
/// Places are looked up in the tree when somebody asks: most fields of a large
/// document are never asked for.
#[derive(Debug, Clone)]
pub struct SourceMap {
    name: String,
    /// Secrets are blanked out.
    text: String,
    root: Option<Arc<Node>>,
}

impl SourceMap {
    pub(crate) fn new(name: &str, text: &str, root: Arc<Node>) -> Self {
        let mut hidden = Vec::new();
        secrets::ranges(&root, &mut hidden);
        Self {
            name: name.to_owned(),
            text: secrets::blanked(text, &hidden),
            root: Some(root),
        }
    }

    /// For a text that is no document: only bytes can be pointed at.
    pub(crate) fn without_tree(name: &str, text: &str) -> Self {
        Self {
            name: name.to_owned(),
            text: secrets::blanked(text, &secrets::ranges_in_lines(text)),
            root: None,
        }
    }

    /// Whether a person wrote something at this path.
    pub fn has(&self, path: &FieldPath) -> bool {
        self.node(path).is_some()
    }

    /// What stands at a path, and the name before it if it has one.
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

    /// The field itself, if the text has it.
    fn own(&self, path: &FieldPath, part: &Part) -> Option<Range<usize>> {
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

    /// For a field that the text does not have, the name of what it would be
    /// in. For the document as a whole there is nothing to underline.
    fn range(&self, path: &FieldPath, part: &Part) -> Option<Range<usize>> {
        if path.is_root() && !matches!(part, Part::Bytes(_)) {
            return None;
        }
        self.own(path, part)
            .or_else(|| self.range(&path.parent()?, &Part::Key))
    }
}
