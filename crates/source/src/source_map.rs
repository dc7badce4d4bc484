//! Where paths lie in the text.

use std::collections::BTreeMap;
use std::ops::Range;

use casement_diag::{FieldPath, Part, Source};

use crate::node::{Data, Node};
use crate::secrets;

/// The text of a document, and where in it each field stands.
#[derive(Debug, Clone)]
pub struct SourceMap {
    name: String,
    /// Secrets are blanked out.
    text: String,
    values: BTreeMap<FieldPath, Range<usize>>,
    keys: BTreeMap<FieldPath, Range<usize>>,
}

impl SourceMap {
    pub(crate) fn new(name: &str, text: &str, root: &Node) -> Self {
        let mut hidden = Vec::new();
        secrets::ranges(root, &mut hidden);
        let mut map = Self {
            name: name.to_owned(),
            text: secrets::blanked(text, &hidden),
            values: BTreeMap::new(),
            keys: BTreeMap::new(),
        };
        map.index(root, FieldPath::root());
        map
    }

    /// For a text that is no document: only bytes can be pointed at.
    pub(crate) fn without_tree(name: &str, text: &str) -> Self {
        Self {
            name: name.to_owned(),
            text: secrets::blanked(text, &secrets::ranges_in_lines(text)),
            values: BTreeMap::new(),
            keys: BTreeMap::new(),
        }
    }

    pub(crate) fn index(&mut self, node: &Node, path: FieldPath) {
        match &node.data {
            Data::Scalar(_) => {}
            Data::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.index(item, path.index(index));
                }
            }
            Data::Mapping(entries) => {
                for entry in entries {
                    let path = path.field(entry.key.as_str());
                    self.keys.insert(path.clone(), entry.key_range.clone());
                    self.index(&entry.value, path);
                }
            }
        }
        self.values.insert(path, node.range.clone());
    }

    /// The field itself, if the text has it.
    fn own(&self, path: &FieldPath, part: &Part) -> Option<Range<usize>> {
        let value = self.values.get(path).filter(|range| !range.is_empty());
        let key = self.keys.get(path);
        match part {
            Part::Bytes(range) => Some(range),
            Part::Key => key.or(value),
            Part::Value => value.or(key),
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
