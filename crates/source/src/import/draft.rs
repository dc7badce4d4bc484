//! What an import comes to: a cluster file, and what to tell about it.

use super::Place;
use super::sheet::Sheet;

/// Why a person should hear about something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoteKind {
    /// A secret stands in clear text where it was found; the draft only says
    /// where casement is to get it from.
    Secret,
    /// A value was not there, or several were, and one was taken.
    Assumed,
    /// Something has no counterpart and is not in the draft.
    NotCarried,
}

/// Something that a person should hear about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    /// Why.
    pub kind: NoteKind,
    /// Where it was found; `None` where it was not.
    pub place: Option<Place>,
    /// What, and what to do about it.
    pub text: String,
}

/// A cluster file in the making.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The file, comments on the origin of its values included.
    pub text: String,
    /// What to tell, by kind and place.
    pub notes: Vec<Note>,
}

/// Notes in the making.
#[derive(Debug, Default)]
pub(super) struct Notes(Vec<Note>);

impl Notes {
    pub(super) fn add(&mut self, kind: NoteKind, place: Option<&Place>, text: impl Into<String>) {
        self.0.push(Note {
            kind,
            place: place.cloned(),
            text: text.into(),
        });
    }

    pub(super) fn assumed(&mut self, text: impl Into<String>) {
        self.add(NoteKind::Assumed, None, text);
    }

    pub(super) fn not_carried(&mut self, place: Option<&Place>, text: impl Into<String>) {
        self.add(NoteKind::NotCarried, place, text);
    }

    pub(super) fn in_order(mut self) -> Vec<Note> {
        self.0.sort();
        self.0.dedup();
        self.0
    }
}

/// The lines that every cluster file begins with.
pub(super) fn begin(name: &str, comment: &str, from: &[String]) -> Sheet {
    let mut sheet = Sheet::new();
    for line in from {
        sheet.comment(line);
    }
    sheet.blank();
    sheet.text("apiVersion", casement_spec::API_VERSION, "");
    sheet.text("kind", casement_spec::KIND, "");
    sheet.open("metadata", "");
    sheet.text("name", name, comment);
    sheet.close();
    sheet.blank();
    sheet.open("spec", "");
    sheet
}

/// Ends a file with what is not in it.
pub(super) fn end(mut sheet: Sheet, notes: Notes) -> Draft {
    sheet.close();
    let notes = notes.in_order();
    let left: Vec<_> = notes
        .iter()
        .filter(|note| note.kind == NoteKind::NotCarried)
        .collect();
    if !left.is_empty() {
        sheet.blank();
        sheet.comment("Not carried over:");
    }
    for note in left {
        let place = note.place.as_ref().map(|place| format!("{place}  "));
        sheet.remark(&format!("{}{}", place.unwrap_or_default(), note.text));
    }
    Draft {
        text: sheet.finish(),
        notes,
    }
}

/// The version of Kubernetes where nobody says one.
pub(super) const VERSION: &str = "1.36.3";
