//! Parses YAML like PyYAML: version 1.1 with anchors, merge keys and Ansible tags.
//!
//! Nodes have byte ranges, because variables keep their line. The expansion of
//! aliases is limited.

mod scalar;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, Tag};

use super::value::Value;
use crate::syntax;

const MAX_DEPTH: usize = 64;
/// Limit per file, after the expansion of aliases.
const MAX_NODES: usize = 400_000;

#[derive(Debug, Clone)]
pub(in crate::import) struct Node {
    pub(in crate::import) range: Range<usize>,
    pub(in crate::import) data: Data,
}

#[derive(Debug, Clone)]
pub(in crate::import) enum Data {
    Scalar(Value),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
}

impl Node {
    pub(in crate::import) fn text(&self) -> Option<&str> {
        match &self.data {
            Data::Scalar(value) => value.text(),
            Data::List(_) | Data::Map(_) => None,
        }
    }

    /// Falsy in Python.
    pub(in crate::import) fn is_falsy(&self) -> bool {
        match &self.data {
            Data::Scalar(Value::Null | Value::Bool(false) | Value::Int(0)) => true,
            Data::Scalar(Value::Text(text)) => text.is_empty(),
            Data::Scalar(Value::Float(number)) => *number == 0.0,
            Data::Scalar(_) => false,
            Data::List(items) => items.is_empty(),
            Data::Map(pairs) => pairs.is_empty(),
        }
    }

    fn size(&self) -> usize {
        1 + match &self.data {
            Data::Scalar(_) => 0,
            Data::List(items) => items.iter().map(Self::size).sum(),
            Data::Map(pairs) => {
                let sizes = pairs.iter().map(|(key, value)| key.size() + value.size());
                sizes.sum()
            }
        }
    }
}

#[derive(Debug)]
pub(in crate::import) struct ParseError {
    pub(in crate::import) range: Range<usize>,
    pub(in crate::import) message: String,
    pub(in crate::import) help: String,
}

impl ParseError {
    fn new(range: Range<usize>, message: impl Into<String>, help: &str) -> Self {
        Self {
            range,
            message: message.into(),
            help: help.to_owned(),
        }
    }
}

/// Parses a single document; `None` if there is none.
pub(in crate::import) fn parse(text: &str) -> Result<Option<Node>, ParseError> {
    let options = granit_parser::options! {
        emit_unresolved_aliases: true,
        emit_anchor_events: true,
        flow_nesting_limit: 2 * MAX_DEPTH,
        block_nesting_limit: 2 * MAX_DEPTH,
    };
    let json = text.trim_start().starts_with(['{', '['])
        && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    let mut tree = Tree {
        json,
        ..Tree::default()
    };
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| {
            let diagnostic = syntax::invalid_yaml(text, &error);
            let range = match diagnostic.part {
                casement_diag::Part::Bytes(range) => range,
                _ => 0..0,
            };
            ParseError::new(
                range,
                diagnostic.message,
                &diagnostic.help.unwrap_or_default(),
            )
        })?;
        let range = span.byte_range().unwrap_or(0..0);
        let slice = text.get(range.clone()).unwrap_or_default();
        tree.event(event, range.start..range.start + slice.trim_end().len())?;
    }
    Ok(tree.root)
}

/// A collection that is not closed yet.
struct Open {
    start: usize,
    anchor: usize,
    vault: bool,
    content: Content,
}

enum Content {
    List(Vec<Node>),
    Map(Vec<(Node, Node)>, Option<Node>),
}

#[derive(Default)]
struct Tree {
    /// Use JSON types: Ansible tries JSON first.
    json: bool,
    open: Vec<Open>,
    root: Option<Node>,
    documents: usize,
    anchors: HashMap<usize, Node>,
    names: HashSet<String>,
    nodes: usize,
}

impl Tree {
    fn event(&mut self, event: Event<'_>, range: Range<usize>) -> Result<(), ParseError> {
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    let help = "put each document into a separate file";
                    return Err(ParseError::new(
                        range,
                        "the file contains a second document",
                        help,
                    ));
                }
            }
            Event::Alias(anchor) => {
                let Some(node) = self.anchors.get(&anchor) else {
                    return Err(ParseError::new(
                        range,
                        "an alias refers to a value that contains it",
                        "repeat the value",
                    ));
                };
                let node = Node {
                    range,
                    ..node.clone()
                };
                self.count(node.size(), &node.range)?;
                self.value(node)?;
            }
            Event::Anchor(_, name) => self.anchor(name.into_owned(), range)?,
            Event::UnresolvedAlias(_) => {
                let help = "quote strings that start with `*`";
                return Err(ParseError::new(
                    range,
                    "an alias refers to an unknown anchor",
                    help,
                ));
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.count(1, &range)?;
                let data = Data::Scalar(self.scalar(&text, style, tag.as_deref(), &range)?);
                self.anchored(anchor, Node { range, data })?;
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.begin(Content::List(Vec::new()), anchor, tag.as_deref(), range)?;
            }
            Event::MappingStart(_, anchor, tag) => {
                self.begin(
                    Content::Map(Vec::new(), None),
                    anchor,
                    tag.as_deref(),
                    range,
                )?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.finish(range)?,
            _ => {}
        }
        Ok(())
    }

    /// Unlike YAML, PyYAML does not allow duplicate anchors.
    fn anchor(&mut self, name: String, range: Range<usize>) -> Result<(), ParseError> {
        if self.names.insert(name) {
            return Ok(());
        }
        let message = "duplicate anchor";
        Err(ParseError::new(range, message, "rename the anchor"))
    }

    fn scalar(
        &self,
        text: &str,
        style: ScalarStyle,
        tag: Option<&Tag>,
        range: &Range<usize>,
    ) -> Result<Value, ParseError> {
        let plain = matches!(style, ScalarStyle::Plain);
        let resolved = match tag.map(|tag| (tag.core_suffix(), tag.suffix())) {
            None if self.json && plain => scalar::json(text),
            None if plain => scalar::plain(text),
            Some((None, "vault" | "vault-encrypted")) => Ok(Value::Vault),
            Some((None, "unsafe")) => scalar::plain(text),
            None | Some((Some("str"), _)) => Ok(Value::Text(text.to_owned())),
            Some(_) => Err("its tag is not supported"),
        };
        resolved.map_err(|reason| {
            let help = "put the value in quotes, without a tag";
            ParseError::new(range.clone(), format!("unsupported value: {reason}"), help)
        })
    }

    fn begin(
        &mut self,
        content: Content,
        anchor: usize,
        tag: Option<&Tag>,
        range: Range<usize>,
    ) -> Result<(), ParseError> {
        self.count(1, &range)?;
        if self.open.len() >= MAX_DEPTH {
            let message = format!("the document is nested more than {MAX_DEPTH} levels deep");
            return Err(ParseError::new(
                range,
                message,
                "check that it is the right file",
            ));
        }
        if self.expects_key() {
            let help = "quote values that start with `{` but are not mappings: '{{ … }}'";
            return Err(ParseError::new(range, "a key must be a scalar", help));
        }
        let known = match (&content, tag) {
            (_, None) => true,
            (_, Some(tag)) if tag.suffix() == "unsafe" => true,
            (Content::List(_), Some(tag)) => tag.core_suffix() == Some("seq"),
            (Content::Map(..), Some(tag)) => tag.core_suffix() == Some("map"),
        };
        if !known {
            return Err(ParseError::new(
                range,
                "this tag is not supported",
                "remove the tag",
            ));
        }
        self.open.push(Open {
            start: range.start,
            anchor,
            vault: false,
            content,
        });
        Ok(())
    }

    fn finish(&mut self, range: Range<usize>) -> Result<(), ParseError> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let range = open.start..range.end.max(open.start);
        let data = match open.content {
            Content::List(items) => Data::List(items),
            Content::Map(..) if open.vault => Data::Scalar(Value::Vault),
            Content::Map(pairs, _) => Data::Map(self.merged(pairs)?),
        };
        self.anchored(open.anchor, Node { range, data })
    }

    /// Resolves `<<`: existing keys win over merged ones, and earlier mappings over
    /// later ones.
    fn merged(&mut self, pairs: Vec<(Node, Node)>) -> Result<Vec<(Node, Node)>, ParseError> {
        let is_merge = |key: &Node| matches!(&key.data, Data::Scalar(Value::Text(text)) if text == "<<" && key.range.len() == 2);
        if !pairs.iter().any(|(key, _)| is_merge(key)) {
            return Ok(pairs);
        }
        let (merges, own): (Vec<_>, Vec<_>) = pairs.into_iter().partition(|(key, _)| is_merge(key));
        let mut all = Vec::new();
        for (_, value) in merges {
            let maps = match value.data {
                Data::List(items) => items.into_iter().rev().collect(),
                _ => vec![value],
            };
            for map in maps {
                let Data::Map(pairs) = map.data else {
                    let help = "use a mapping or a list of mappings after `<<`";
                    return Err(ParseError::new(
                        map.range,
                        "a merged value is not a mapping",
                        help,
                    ));
                };
                all.extend(pairs);
            }
        }
        all.extend(own);
        Ok(all)
    }

    fn anchored(&mut self, anchor: usize, node: Node) -> Result<(), ParseError> {
        if anchor != 0 {
            self.count(node.size(), &node.range)?;
            self.anchors.insert(anchor, node.clone());
        }
        self.value(node)
    }

    fn value(&mut self, node: Node) -> Result<(), ParseError> {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match &mut open.content {
            Content::List(items) => items.push(node),
            Content::Map(pairs, key) => match key.take() {
                Some(key) => pairs.push((key, node)),
                None if matches!(node.data, Data::Scalar(_)) => {
                    // The JSON form of `!vault`.
                    open.vault |= node.text() == Some("__ansible_vault");
                    *key = Some(node);
                }
                None => {
                    let help = "use a string";
                    return Err(ParseError::new(node.range, "a key must be a scalar", help));
                }
            },
        }
        Ok(())
    }

    fn expects_key(&self) -> bool {
        let open = self.open.last().map(|open| &open.content);
        matches!(open, Some(Content::Map(_, None)))
    }

    fn count(&mut self, nodes: usize, range: &Range<usize>) -> Result<(), ParseError> {
        self.nodes += nodes;
        if self.nodes > MAX_NODES {
            let message = format!("the document has more than {MAX_NODES} values");
            return Err(ParseError::new(
                range.clone(),
                message,
                "check that it is the right file",
            ));
        }
        Ok(())
    }
}
