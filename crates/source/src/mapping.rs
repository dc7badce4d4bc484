//! A mapping against its shape: what is unknown, and what is missing.

use std::collections::{BTreeMap, BTreeSet};

use casement_diag::{Diagnostic, FieldPath, Part};
use casement_spec::API_VERSION;

use crate::codes;
use crate::node::{Data, Entries, Entry, clipped};
use crate::reader::{At, Reader, short_path};
use crate::shape::{Field, Need, Shape};
use crate::shapes;
use crate::suggest;

/// A mapping whose fields were checked.
#[derive(Debug)]
pub(crate) struct Mapping<'n> {
    path: FieldPath,
    entries: &'n Entries,
    /// Fields that are there.
    present: BTreeSet<&'static str>,
    /// Fields that are not there, but probably meant by others that are: what
    /// those hold is judged as well, so that one slip hides no other mistake.
    misspelt: BTreeMap<&'static str, &'n Entry>,
}

/// What a mapping says about a field.
#[derive(Debug)]
pub(crate) enum Given<'n> {
    /// This.
    Value(At<'n>),
    /// Nothing: the default holds.
    Nothing,
}

impl<'n> Mapping<'n> {
    /// Reports every field that does not belong there, and every one that lacks.
    pub(crate) fn read(
        reader: &mut Reader<'_>,
        at: &At<'n>,
        shape: &'static Shape,
    ) -> Option<Self> {
        let Data::Mapping(entries) = &at.node.data else {
            let wanted = format!("a mapping with {}", main_fields(shape));
            if at.path.is_root() {
                let message = format!("the document must be {wanted}, not {}", at.node.described());
                let finding = Diagnostic::error(at.path.clone(), message).code(codes::WRONG_TYPE);
                reader.add(finding.help(format!("it begins with `apiVersion: {API_VERSION}`")));
            } else {
                let first = shape.names().next().unwrap_or_default();
                let how = format!("fields are written as `{first}: …`, each in a line of its own");
                reader.wrong_type(at, &wanted, Some(how));
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
            misspelt: BTreeMap::new(),
        };
        for entry in entries.iter() {
            mapping.check(reader, shape, entry);
        }
        mapping.report_missing(reader, shape);
        Some(mapping)
    }

    pub(crate) fn get(&self, name: &str) -> Given<'n> {
        let exact = self.entries.get(name);
        match exact.or_else(|| self.misspelt.get(name).copied()) {
            Some(entry) => Given::Value(At {
                node: &entry.value,
                path: self.path.field(entry.key.as_str()),
            }),
            None => Given::Nothing,
        }
    }

    /// A field that was reported if it lacks.
    pub(crate) fn required(&self, name: &str) -> Option<At<'n>> {
        match self.get(name) {
            Given::Value(at) => Some(at),
            Given::Nothing => None,
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
        let at = At {
            node: &entry.value,
            path: self.path.field(entry.key.as_str()),
        };
        let missing = shape.names().filter(|name| !self.present.contains(name));
        let meant = suggest::closest(&entry.key, missing);
        self.misspelt.extend(meant.map(|name| (name, entry)));
        reader.add(unknown(&at, &entry.key, shape, meant));
    }

    /// The only field of a mapping that may have one only; `None` after a
    /// finding.
    pub(crate) fn only(
        &self,
        reader: &mut Reader<'_>,
        shape: &'static Shape,
    ) -> Option<(&'static str, At<'n>)> {
        let mut there = shape.names().filter_map(|name| match self.get(name) {
            Given::Value(at) => Some((name, at)),
            Given::Nothing => None,
        });
        let Some(only) = there.next() else {
            // A field that is not known has been reported.
            if self.entries.is_empty() {
                let fields: Vec<_> = shape.names().map(|name| format!("`{name}`")).collect();
                let name = short_path(&self.path);
                let message = format!("`{name}` needs one of {}", fields.join(", "));
                let finding = Diagnostic::error(self.path.clone(), message);
                let finding = finding.code(codes::MISSING_FIELD);
                reader.add(finding.help("say which, and leave the others out"));
            }
            return None;
        };
        if let Some((name, at)) = there.next() {
            let message = format!("`{}` and `{name}` exclude each other", only.0);
            let finding = Diagnostic::error(at.path, message).code(codes::EXCLUSIVE);
            let finding = finding.at(Part::Key).here("and here");
            let finding = finding.label_at(only.1.path, Part::Key, "here");
            reader.add(finding.help("keep one of them"));
            return None;
        }
        Some(only)
    }

    fn report_missing(&self, reader: &mut Reader<'_>, shape: &Shape) {
        for field in shape.fields {
            let Need::Required(example) = field.need else {
                continue;
            };
            if !matches!(self.get(field.name), Given::Nothing) {
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

/// The fields that have to be there, or the first ones, for a sentence.
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
    at: &At<'_>,
    key: &str,
    shape: &'static Shape,
    meant: Option<&'static str>,
) -> Diagnostic {
    let key = clipped(key);
    let finding = Diagnostic::error(
        at.path.clone(),
        format!("unknown field `{key}` in {}", shape.place),
    )
    .code(codes::UNKNOWN_FIELD)
    .at(Part::Key);
    if let Some(meant) = meant {
        return finding
            .help(format!("did you mean `{meant}`?"))
            .replace(format!("rename it to `{meant}`"), meant);
    }
    let home = shapes::ALL
        .iter()
        .find(|other| other.field(&key).is_some() && other.place != shape.place);
    if let Some(home) = home {
        return finding.help(format!(
            "`{key}` is a field of {}: is it indented as it should be?",
            home.place
        ));
    }
    let fields: Vec<_> = shape.names().map(|name| format!("`{name}`")).collect();
    finding.help(format!(
        "the fields of {} are {}",
        shape.place,
        fields.join(", ")
    ))
}
