//! Parses YAML text into a tree of limited size.

use std::ops::Range;

use casement_diag::{Diagnostic, FieldPath, Part};
use granit_parser::{Event, Parser, ScalarStyle, Span};

use crate::codes;
use crate::findings::Findings;
use crate::node::{Data, Entries, Entry, Node, Scalar, clipped};
use crate::secrets;
use crate::syntax;

const MAX_DEPTH: usize = 64;

/// More than the largest cluster needs, and small enough for memory.
const MAX_VALUES: usize = 400_000;

type ParseError = Box<Diagnostic>;

/// Parses a single document; the findings are about duplicate fields.
pub(crate) fn parse(text: &str) -> Result<(Node, Findings), ParseError> {
    let options = granit_parser::options! {
        emit_unresolved_aliases: true,
        flow_nesting_limit: 2 * MAX_DEPTH,
        block_nesting_limit: 2 * MAX_DEPTH,
    };
    let mut tree = TreeBuilder::default();
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| Box::new(syntax::invalid_yaml(text, &error)))?;
        tree.event(event, bytes(&span, text))?;
    }
    let mut root = tree
        .root
        .filter(|root| !root.is_null())
        .ok_or_else(|| Box::new(syntax::no_document()))?;
    secrets::mark(&mut root);
    Ok((root, tree.duplicates))
}

fn bytes(span: &Span, text: &str) -> Range<usize> {
    let range = span.byte_range().unwrap_or(0..0);
    let slice = text.get(range.clone()).unwrap_or_default();
    range.start..range.start + slice.trim_end().len()
}

/// A collection that is not closed yet.
struct Open {
    start: usize,
    end: usize,
    path: FieldPath,
    content: Content,
}

enum Content {
    List(Vec<Node>),
    /// The key is set until its value is parsed.
    Mapping(Entries, Option<(String, Range<usize>)>),
}

#[derive(Default)]
struct TreeBuilder {
    open: Vec<Open>,
    root: Option<Node>,
    documents: usize,
    values: usize,
    duplicates: Findings,
}

impl TreeBuilder {
    fn event(&mut self, event: Event<'_>, range: Range<usize>) -> Result<(), ParseError> {
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(Box::new(syntax::several_documents(range)));
                }
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                return Err(Box::new(syntax::alias(range)));
            }
            Event::Scalar(_, _, _, Some(_))
            | Event::SequenceStart(_, _, Some(_))
            | Event::MappingStart(_, _, Some(_)) => return Err(Box::new(syntax::tag(range))),
            Event::Scalar(text, style, ..) => self.scalar(text.into_owned(), style, range)?,
            Event::SequenceStart(..) => self.begin(Content::List(Vec::new()), range)?,
            Event::MappingStart(..) => {
                self.begin(Content::Mapping(Entries::default(), None), range)?
            }
            Event::SequenceEnd | Event::MappingEnd => self.finish(range)?,
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, content: Content, range: Range<usize>) -> Result<(), ParseError> {
        if self.open.len() >= MAX_DEPTH {
            return Err(Box::new(syntax::too_deep(range, MAX_DEPTH)));
        }
        if self.expects_key() {
            return Err(Box::new(syntax::non_scalar_key(range)));
        }
        self.open.push(Open {
            start: range.start,
            end: range.end,
            path: self.next_path(),
            content,
        });
        Ok(())
    }

    fn finish(&mut self, range: Range<usize>) -> Result<(), ParseError> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        // A flow collection ends with its bracket, a block collection with its
        // last part.
        let end = open.end.max(range.end);
        let data = match open.content {
            Content::List(items) => Data::List(items),
            Content::Mapping(entries, _) => Data::Mapping(entries),
        };
        let range = open.start..if range.is_empty() { open.end } else { end };
        self.value(Node { range, data })
    }

    fn scalar(
        &mut self,
        text: String,
        style: ScalarStyle,
        range: Range<usize>,
    ) -> Result<(), ParseError> {
        if let Some(Open {
            content: Content::Mapping(_, key @ None),
            ..
        }) = self.open.last_mut()
        {
            *key = Some((text, range));
            return Ok(());
        }
        let plain = style == ScalarStyle::Plain;
        let secret = false;
        let data = Data::Scalar(Scalar {
            text,
            plain,
            secret,
        });
        self.value(Node { range, data })
    }

    fn value(&mut self, node: Node) -> Result<(), ParseError> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(Box::new(syntax::too_many(node.range, MAX_VALUES)));
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        open.end = open.end.max(node.range.end);
        match &mut open.content {
            Content::List(items) => items.push(node),
            Content::Mapping(entries, key) => {
                let Some((key, key_range)) = key.take() else {
                    return Err(Box::new(syntax::non_scalar_key(node.range)));
                };
                open.end = open.end.max(key_range.end);
                let entry = Entry {
                    key,
                    key_range,
                    value: node,
                };
                if let Some(second) = entries.push(entry) {
                    let path = open.path.field(second.key.as_str());
                    let finding = duplicate(path, &second.key, second.key_range);
                    self.duplicates.add(finding);
                }
            }
        }
        Ok(())
    }

    fn expects_key(&self) -> bool {
        let innermost = self.open.last().map(|open| &open.content);
        matches!(innermost, Some(Content::Mapping(_, None)))
    }

    fn next_path(&self) -> FieldPath {
        match self.open.last() {
            None => FieldPath::root(),
            Some(open) => match &open.content {
                Content::List(items) => open.path.index(items.len()),
                Content::Mapping(_, Some((key, _))) => open.path.field(key.as_str()),
                Content::Mapping(_, None) => open.path.clone(),
            },
        }
    }
}

fn duplicate(path: FieldPath, key: &str, second: Range<usize>) -> Diagnostic {
    Diagnostic::error(path.clone(), format!("duplicate field `{}`", clipped(key)))
        .code(codes::DUPLICATE_FIELD)
        .at(Part::Bytes(second))
        .here("set again here")
        .label_at(path, Part::Key, "first set here")
        .help("remove one of them")
}
