//! The result of an import: a cluster file and notes.

use super::SourceLocation;
use super::yaml_writer::YamlWriter;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoteKind {
    /// The source has a secret; the draft only refers to one.
    Secret,
    /// A missing or ambiguous value was assumed.
    Assumed,
    /// Something was not imported.
    NotImported,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    pub kind: NoteKind,
    /// `None` if the note is not about a line of the source.
    pub location: Option<SourceLocation>,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The cluster file, with the source of each value in comments.
    pub text: String,
    /// Sorted by kind and location.
    pub notes: Vec<Note>,
}

#[derive(Debug, Default)]
pub(super) struct Notes(Vec<Note>);

impl Notes {
    pub(super) fn add(
        &mut self,
        kind: NoteKind,
        location: Option<&SourceLocation>,
        text: impl Into<String>,
    ) {
        self.0.push(Note {
            kind,
            location: location.cloned(),
            text: text.into(),
        });
    }

    pub(super) fn assumed(&mut self, text: impl Into<String>) {
        self.add(NoteKind::Assumed, None, text);
    }

    pub(super) fn not_imported(
        &mut self,
        location: Option<&SourceLocation>,
        text: impl Into<String>,
    ) {
        self.add(NoteKind::NotImported, location, text);
    }

    pub(super) fn in_order(mut self) -> Vec<Note> {
        self.0.sort();
        self.0.dedup();
        self.0
    }
}

/// Writes the lines up to `spec:`.
pub(super) fn begin(name: &str, comment: &str, from: &[String]) -> YamlWriter {
    let mut yaml = YamlWriter::new();
    for line in from {
        yaml.comment(line);
    }
    yaml.blank();
    yaml.text("apiVersion", casement_spec::API_VERSION, "");
    yaml.text("kind", casement_spec::KIND, "");
    yaml.open("metadata", "");
    yaml.text("name", name, comment);
    yaml.close();
    yaml.blank();
    yaml.open("spec", "");
    yaml
}

/// Ends the file with a list of what was not imported.
pub(super) fn end(mut yaml: YamlWriter, notes: Notes) -> Draft {
    yaml.close();
    let notes = notes.in_order();
    let skipped: Vec<_> = notes
        .iter()
        .filter(|note| note.kind == NoteKind::NotImported)
        .collect();
    if !skipped.is_empty() {
        yaml.blank();
        yaml.comment("Not imported:");
    }
    for note in skipped {
        let location = note
            .location
            .as_ref()
            .map(|location| format!("{location}  "));
        yaml.unwrapped_comment(&format!("{}{}", location.unwrap_or_default(), note.text));
    }
    Draft {
        text: yaml.finish(),
        notes,
    }
}

/// Kubernetes version if the source has none.
pub(super) const DEFAULT_VERSION: &str = "1.36.3";
