//! Documents embedded as strings in ConfigMaps.

use std::ops::Range;

use casement_diag::FieldPath;

use crate::node::{Data, Entry, Node};

use super::{toml, yaml};

/// Replaces the strings of a ConfigMap that are documents with their trees, and
/// returns these with their paths.
pub(super) fn expand(root: &mut Node, path: &FieldPath, text: &str) -> Vec<(FieldPath, Node)> {
    let Data::Mapping(entries) = &mut root.data else {
        return Vec::new();
    };
    let is_map = entries.get("kind").is_some_and(
        |entry| matches!(&entry.value.data, Data::Scalar(scalar) if scalar.text == "ConfigMap"),
    );
    let data = entries.iter_mut().find(|entry| entry.key == "data");
    let data = data.filter(|_| is_map).map(|entry| &mut entry.value.data);
    let Some(Data::Mapping(texts)) = data else {
        return Vec::new();
    };
    let path = path.field("data");
    let mut found = Vec::new();
    for entry in texts.iter_mut() {
        if let Some(node) = document(entry, text) {
            found.push((path.field(entry.key.as_str()), node.clone()));
            entry.value = node;
        }
    }
    found
}

fn document(entry: &Entry, text: &str) -> Option<Node> {
    let Data::Scalar(scalar) = &entry.value.data else {
        return None;
    };
    let mut node = if entry.key.ends_with(".toml") {
        toml::parse(&scalar.text).ok()?
    } else {
        let mut documents = yaml::parse(&scalar.text).ok()?;
        documents.pop().filter(|_| documents.is_empty())?
    };
    if !matches!(node.data, Data::Mapping(_)) {
        return None;
    }
    let lines = Lines::new(&scalar.text, &entry.value.range, text);
    lines.relocate(&mut node);
    Some(node)
}

/// Maps positions in an embedded document to positions in the file.
struct Lines {
    /// Inner and outer start of each line; empty if there is no mapping.
    starts: Vec<(usize, usize)>,
    whole: Range<usize>,
}

impl Lines {
    /// A block scalar has the same lines, indented; a quoted one may have escapes
    /// and is not mapped.
    fn new(inner: &str, range: &Range<usize>, outer: &str) -> Self {
        let mut starts = Vec::new();
        let source = outer.get(range.clone()).unwrap_or_default();
        let block = source.starts_with(['|', '>']);
        let skipped = source.find('\n').filter(|_| block).map_or(0, |at| at + 1);
        let (mut from, mut to) = (0, range.start + skipped);
        for line in inner.split_inclusive('\n') {
            let bare = line.trim_end_matches('\n');
            let rest = outer.get(to..range.end).unwrap_or_default();
            let Some(found) = rest.find(bare) else {
                starts.clear();
                break;
            };
            if !bare.is_empty() {
                starts.push((from, to + found));
                to += found + bare.len();
            }
            from += line.len();
        }
        Self {
            starts,
            whole: range.clone(),
        }
    }

    fn byte(&self, inner: usize) -> Option<usize> {
        let line = self.starts.partition_point(|(start, _)| *start <= inner);
        let (start, outer) = self.starts.get(line.checked_sub(1)?)?;
        Some(outer + (inner - start))
    }

    fn range(&self, inner: &Range<usize>) -> Range<usize> {
        let ends = (self.byte(inner.start), self.byte(inner.end));
        match ends {
            (Some(start), Some(end)) if start <= end => start..end.min(self.whole.end),
            _ => self.whole.clone(),
        }
    }

    fn relocate(&self, node: &mut Node) {
        node.range = self.range(&node.range);
        match &mut node.data {
            Data::Scalar(_) => {}
            Data::List(items) => items.iter_mut().for_each(|item| self.relocate(item)),
            Data::Mapping(entries) => {
                for entry in entries.iter_mut() {
                    entry.key_range = self.range(&entry.key_range);
                    self.relocate(&mut entry.value);
                }
            }
        }
    }
}
