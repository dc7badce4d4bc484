//! Checks a mapping against its shape: unknown and missing fields.

use std::collections::{BTreeMap, BTreeSet};

use casement_diag::{Diagnostic, FieldPath, Part};
use casement_spec::API_VERSION;

use crate::codes;
use crate::node::{Data, Entries, Entry, clipped};
use crate::reader::{FieldNode, Reader, short_path};
use crate::shape::{Field, Need, Shape};
use crate::shapes;
use crate::suggest;

/// A mapping with checked fields.
#[derive(Debug)]
pub(crate) struct Mapping<'n> {
    path: FieldPath,
    entries: &'n Entries,
    present: BTreeSet<&'static str>,
    /// Missing fields with a similar unknown key. Their values are checked too, so
    /// that a typo in a name does not hide errors in the value.
    misspelled: BTreeMap<&'static str, &'n Entry>,
}

#[derive(Debug)]
pub(crate) enum Given<'n> {
    Value(FieldNode<'n>),
    Absent,
}

impl<'n> Mapping<'n> {
    /// Reports all unknown and missing fields.
    pub(crate) fn read(
        reader: &mut Reader<'_>,
        at: &FieldNode<'n>,
        shape: &'static Shape,
    ) -> Option<Self> {
        let Data::Mapping(entries) = &at.node.data else {
            let expected = format!("a mapping with {}", main_fields(shape));
            if at.path.is_root() {
                let message = format!(
                    "the document must be {expected}, not {}",
                    at.node.described()
                );
                let finding = Diagnostic::error(at.path.clone(), message).code(codes::WRONG_TYPE);
                reader.add(finding.help(format!("start it with `apiVersion: {API_VERSION}`")));
            } else {
                let first = shape.names().next().unwrap_or_default();
                let help = format!("write each field as `{first}: …` on its own line");
                reader.wrong_type(at, &expected, Some(help));
            }
            return None;
        };
        let mut mapping = Self {
            path: at.path.clone(),
            entries,
            present: entries
                .iter()
                .filter_map(|entry| Some(shape.field(&entry.key)?.name))
                .collect(),
            misspelled: BTreeMap::new(),
        };
        for entry in entries.iter() {
            mapping.check(reader, shape, entry);
        }
        mapping.report_missing(reader, shape);
        Some(mapping)
    }

    pub(crate) fn get(&self, name: &str) -> Given<'n> {
        let exact = self.entries.get(name);
        match exact.or_else(|| self.misspelled.get(name).copied()) {
            Some(entry) => Given::Value(FieldNode {
                node: &entry.value,
                path: self.path.field(entry.key.as_str()),
            }),
            None => Given::Absent,
        }
    }

    /// A required field; [`Self::read`] has reported it if it is missing.
    pub(crate) fn required(&self, name: &str) -> Option<FieldNode<'n>> {
        match self.get(name) {
            Given::Value(at) => Some(at),
            Given::Absent => None,
        }
    }

    fn check(&mut self, reader: &mut Reader<'_>, shape: &'static Shape, entry: &'n Entry) {
        if shape.field(&entry.key).is_some() {
            return;
        }
        if reader.findings.is_full() {
            reader.findings.count_error();
            return;
        }
        let at = FieldNode {
            node: &entry.value,
            path: self.path.field(entry.key.as_str()),
        };
        let missing = shape.names().filter(|name| !self.present.contains(name));
        let suggestion = suggest::closest(&entry.key, missing);
        self.misspelled.extend(suggestion.map(|name| (name, entry)));
        reader.add(unknown(&at, &entry.key, shape, suggestion));
    }

    /// The field of a mapping with exactly one field; `None` after a finding.
    pub(crate) fn only(
        &self,
        reader: &mut Reader<'_>,
        shape: &'static Shape,
    ) -> Option<(&'static str, FieldNode<'n>)> {
        let mut present = shape.names().filter_map(|name| match self.get(name) {
            Given::Value(at) => Some((name, at)),
            Given::Absent => None,
        });
        let Some(only) = present.next() else {
            // Unknown fields have been reported.
            if self.entries.is_empty() {
                let fields: Vec<_> = shape.names().map(|name| format!("`{name}`")).collect();
                let name = short_path(&self.path);
                let message = format!("`{name}` requires one of {}", fields.join(", "));
                let finding = Diagnostic::error(self.path.clone(), message);
                let finding = finding.code(codes::MISSING_FIELD);
                reader.add(finding.help("add exactly one of them"));
            }
            return None;
        };
        if let Some((name, at)) = present.next() {
            let message = format!("`{}` and `{name}` cannot be used together", only.0);
            let finding = Diagnostic::error(at.path, message).code(codes::EXCLUSIVE);
            let finding = finding.at(Part::Key).here("and here");
            let finding = finding.label_at(only.1.path, Part::Key, "here");
            reader.add(finding.help("keep one of them and remove the other"));
            return None;
        }
        Some(only)
    }

    fn report_missing(&self, reader: &mut Reader<'_>, shape: &Shape) {
        for field in shape.fields {
            let Need::Required(example) = field.need else {
                continue;
            };
            if !matches!(self.get(field.name), Given::Absent) {
                continue;
            }
            let name = short_path(&self.path.field(field.name));
            let finding = Diagnostic::error(self.path.clone(), format!("`{name}` is missing"))
                .code(codes::MISSING_FIELD)
                .at(Part::Key)
                .help(format!("add `{example}`"));
            reader.add(finding);
        }
    }
}

/// The required fields, or else the first ones, for a message.
fn main_fields(shape: &'static Shape) -> String {
    let needed = |field: &&Field| matches!(field.need, Need::Required(_));
    let mut names: Vec<_> = shape.fields.iter().filter(needed).collect();
    if names.is_empty() {
        names = shape.fields.iter().take(4).collect();
    }
    let more = if names.len() < shape.fields.len() {
        ", …"
    } else {
        ""
    };
    let names: Vec<_> = names.iter().map(|f| format!("`{}`", f.name)).collect();
    format!("{}{more}", names.join(", "))
}

fn unknown(
    at: &FieldNode<'_>,
    key: &str,
    shape: &'static Shape,
    suggestion: Option<&'static str>,
) -> Diagnostic {
    let key = clipped(key);
    let finding = Diagnostic::error(
        at.path.clone(),
        format!("unknown field `{key}` in {}", shape.title),
    )
    .code(codes::UNKNOWN_FIELD)
    .at(Part::Key);
    if let Some(suggestion) = suggestion {
        return finding
            .help(format!("did you mean `{suggestion}`?"))
            .replace(format!("rename it to `{suggestion}`"), suggestion);
    }
    let other = shapes::ALL
        .iter()
        .find(|other| other.field(&key).is_some() && other.title != shape.title);
    if let Some(other) = other {
        return finding.help(format!(
            "`{key}` is a field of {}; check the indentation",
            other.title
        ));
    }
    let fields: Vec<_> = shape.names().map(|name| format!("`{name}`")).collect();
    finding.help(format!(
        "valid fields of {} are {}",
        shape.title,
        fields.join(", ")
    ))
}
