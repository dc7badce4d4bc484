//! Parses YAML, and so JSON, into trees.

use std::collections::HashMap;
use std::ops::Range;

use casement_diag::Diagnostic;
use granit_parser::{Event, Parser, ScalarStyle, Span};

use crate::node::{Data, Entries, Entry, Node, Scalar};
use crate::syntax;

use super::syntax_error;

/// More than manifests have; CRDs with schemas are the deepest.
const MAX_DEPTH: usize = 128;
/// Limit after the expansion of aliases, so that a small file cannot exhaust memory.
const MAX_NODES: usize = 1_000_000;

type ParseError = Box<Diagnostic>;

/// All documents that are not empty.
pub(super) fn parse(text: &str) -> Result<Vec<Node>, ParseError> {
    let options = granit_parser::options! {
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    let mut builder = DocumentBuilder::default();
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| Box::new(syntax::invalid_yaml(text, &error)))?;
        builder.event(event, bytes(&span, text))?;
    }
    Ok(builder.documents)
}

fn bytes(span: &Span, text: &str) -> Range<usize> {
    let range = span.byte_range().unwrap_or(0..0);
    let slice = text.get(range.clone()).unwrap_or_default();
    range.start..range.start + slice.trim_end().len()
}

/// A collection that is not closed yet.
struct Open {
    range: Range<usize>,
    anchor: usize,
    content: Content,
}

enum Content {
    List(Vec<Node>),
    /// The key is set until its value is parsed.
    Mapping(Vec<Entry>, Option<(String, Range<usize>)>),
}

#[derive(Default)]
struct DocumentBuilder {
    open: Vec<Open>,
    documents: Vec<Node>,
    anchors: HashMap<usize, (Node, usize)>,
    nodes: usize,
}

impl DocumentBuilder {
    fn event(&mut self, event: Event<'_>, range: Range<usize>) -> Result<(), ParseError> {
        match event {
            Event::DocumentStart(..) => self.anchors.clear(),
            Event::Scalar(text, style, anchor, _) => self.scalar(&text, style, anchor, range)?,
            Event::SequenceStart(_, anchor, _) => {
                self.begin(Content::List(Vec::new()), anchor, range)?
            }
            Event::MappingStart(_, anchor, _) => {
                self.begin(Content::Mapping(Vec::new(), None), anchor, range)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.finish(range)?,
            Event::Alias(anchor) => {
                let (mut node, size) = self
                    .anchors
                    .get(&anchor)
                    .cloned()
                    .unwrap_or_else(|| null(&range));
                node.range = range;
                self.value(node, size)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn begin(
        &mut self,
        content: Content,
        anchor: usize,
        range: Range<usize>,
    ) -> Result<(), ParseError> {
        if self.open.len() >= MAX_DEPTH {
            return Err(Box::new(syntax::too_deep(range, MAX_DEPTH)));
        }
        if let Some(Open {
            content: Content::Mapping(_, None),
            ..
        }) = self.open.last()
        {
            return Err(Box::new(syntax::non_scalar_key(range)));
        }
        self.open.push(Open {
            range,
            anchor,
            content,
        });
        Ok(())
    }

    fn finish(&mut self, range: Range<usize>) -> Result<(), ParseError> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let end = if range.is_empty() {
            open.range.end
        } else {
            open.range.end.max(range.end)
        };
        let data = match open.content {
            Content::List(items) => Data::List(items),
            Content::Mapping(entries, _) => Data::Mapping(merge_keys(entries)),
        };
        let node = Node {
            range: open.range.start..end,
            data,
        };
        self.remember(open.anchor, &node);
        self.value(node, 1)
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        anchor: usize,
        range: Range<usize>,
    ) -> Result<(), ParseError> {
        if let Some(Open {
            content: Content::Mapping(_, key @ None),
            ..
        }) = self.open.last_mut()
        {
            *key = Some((text.to_owned(), range));
            return Ok(());
        }
        let scalar = Scalar {
            text: text.to_owned(),
            plain: style == ScalarStyle::Plain,
            secret: false,
        };
        let node = Node {
            range,
            data: Data::Scalar(scalar),
        };
        self.remember(anchor, &node);
        self.value(node, 1)
    }

    fn remember(&mut self, anchor: usize, node: &Node) {
        if anchor > 0 {
            self.anchors.insert(anchor, (node.clone(), size(node)));
        }
    }

    fn value(&mut self, node: Node, size: usize) -> Result<(), ParseError> {
        self.nodes += size;
        if self.nodes > MAX_NODES {
            let message =
                format!("the file has more than {MAX_NODES} values after expanding aliases");
            return Err(syntax_error(
                node.range.start,
                message,
                "replace aliases with their values",
            ));
        }
        let Some(open) = self.open.last_mut() else {
            if !node.is_null() {
                self.documents.push(node);
            }
            return Ok(());
        };
        open.range.end = open.range.end.max(node.range.end);
        match &mut open.content {
            Content::List(items) => items.push(node),
            Content::Mapping(entries, key) => {
                let Some((key, key_range)) = key.take() else {
                    return Err(Box::new(syntax::non_scalar_key(node.range)));
                };
                open.range.end = open.range.end.max(key_range.end);
                entries.push(Entry {
                    key,
                    key_range,
                    value: node,
                });
            }
        }
        Ok(())
    }
}

fn null(range: &Range<usize>) -> (Node, usize) {
    let scalar = Scalar {
        text: String::new(),
        plain: true,
        secret: false,
    };
    (
        Node {
            range: range.clone(),
            data: Data::Scalar(scalar),
        },
        1,
    )
}

fn size(node: &Node) -> usize {
    1 + match &node.data {
        Data::Scalar(_) => 0,
        Data::List(items) => items.iter().map(size).sum::<usize>(),
        Data::Mapping(entries) => entries.iter().map(|entry| size(&entry.value)).sum(),
    }
}

/// The fields, followed by those merged with `<<`. The first of duplicate keys wins.
fn merge_keys(fields: Vec<Entry>) -> Entries {
    let mut entries = Entries::default();
    let mut merged = Vec::new();
    for field in fields {
        match field.value.data {
            Data::List(items) if field.key == "<<" => merged.extend(items),
            _ if field.key == "<<" => merged.push(field.value),
            _ => drop(entries.push(field)),
        }
    }
    for node in merged {
        if let Data::Mapping(more) = node.data {
            for field in more.iter() {
                drop(entries.push(field.clone()));
            }
        }
    }
    entries
}
