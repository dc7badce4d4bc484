//! The finding itself.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::path::{FieldPath, Part};

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Nothing is done until it is mended.
    Error,
    /// It works, but hardly as meant.
    Warning,
    /// Worth knowing.
    Note,
}

/// The stable name of a rule or error, such as `CAS-NET-003`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Code(Cow<'static, str>);

impl Code {
    /// A code; they are constants, and stay what they are for ever.
    pub const fn new(code: &'static str) -> Self {
        Self(Cow::Borrowed(code))
    }

    /// As it is printed.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A few words at a place that has to do with the finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// In which text, where it is not the finding's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Where.
    pub path: FieldPath,
    /// Its name or its value.
    #[serde(default, skip_serializing_if = "Part::is_value")]
    pub part: Part,
    /// What to say there.
    pub text: String,
}

/// A change of the text that mends the finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fix {
    /// What the change does, as an order: "rename it to `podCidr`".
    pub title: String,
    /// The replacements, which do not overlap.
    pub edits: Vec<Edit>,
}

/// One replacement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// In which text, where it is not the finding's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Where.
    pub path: FieldPath,
    /// Its name or its value.
    #[serde(default, skip_serializing_if = "Part::is_value")]
    pub part: Part,
    /// What stands there afterwards.
    pub replacement: String,
}

/// What is wrong, where, why, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    /// The rule.
    pub code: Option<Code>,
    /// How much it matters.
    pub severity: Severity,
    /// The name of the text it is in; none where there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Where.
    pub path: FieldPath,
    /// The field's name or its value.
    #[serde(default, skip_serializing_if = "Part::is_value")]
    pub part: Part,
    /// One line, lower case, with the values that disagree.
    pub message: String,
    /// Words at places; one at the finding's own place stands at its underline.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Label>,
    /// Reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What to do.
    pub help: Option<String>,
    /// The same as a change of the text, where one is known to be right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
}

impl Diagnostic {
    /// A finding that stops everything.
    pub fn error(path: FieldPath, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, path, message)
    }

    /// A finding that does not stop anything.
    pub fn warning(path: FieldPath, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, path, message)
    }

    /// A finding of the given severity, so far without a code.
    pub fn new(severity: Severity, path: FieldPath, message: impl Into<String>) -> Self {
        Self {
            code: None,
            severity,
            file: None,
            path,
            part: Part::Value,
            message: message.into(),
            labels: Vec::new(),
            notes: Vec::new(),
            help: None,
            fix: None,
        }
    }

    /// The same with a code.
    #[must_use]
    pub fn code(mut self, code: Code) -> Self {
        self.code = Some(code);
        self
    }

    /// The same, pointing at the field's name, or at bytes.
    #[must_use]
    pub fn at(mut self, part: Part) -> Self {
        self.part = part;
        self
    }

    /// The same with words at its own place; comes after [`Self::at`].
    #[must_use]
    pub fn here(self, text: impl Into<String>) -> Self {
        let (path, part) = (self.path.clone(), self.part.clone());
        self.label_at(path, part, text)
    }

    /// The same with words at another value.
    #[must_use]
    pub fn label(self, path: FieldPath, text: impl Into<String>) -> Self {
        self.label_at(path, Part::Value, text)
    }

    /// The same with words at another place.
    #[must_use]
    pub fn label_at(mut self, path: FieldPath, part: Part, text: impl Into<String>) -> Self {
        let text = text.into();
        self.labels.push(Label {
            file: None,
            path,
            part,
            text,
        });
        self
    }

    /// The same with words at a place in another text.
    #[must_use]
    pub fn label_in(
        mut self,
        file: impl Into<String>,
        path: FieldPath,
        text: impl Into<String>,
    ) -> Self {
        self.labels.push(Label {
            file: Some(file.into()),
            path,
            part: Part::Value,
            text: text.into(),
        });
        self
    }

    /// The same, in the text of this name.
    #[must_use]
    pub fn within(mut self, file: impl Into<String>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// The same with a reason.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// The same with what to do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same with a change that puts `replacement` at the finding's place.
    #[must_use]
    pub fn replace(mut self, title: impl Into<String>, replacement: impl Into<String>) -> Self {
        self.fix = Some(Fix {
            title: title.into(),
            edits: vec![Edit {
                file: None,
                path: self.path.clone(),
                part: self.part.clone(),
                replacement: replacement.into(),
            }],
        });
        self
    }
}

/// Whether anything stops everything.
pub fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|d| d.severity == Severity::Error)
}

/// How many there are, for a last line: `2 errors, 1 warning`. Empty when none.
pub fn summary(diagnostics: &[Diagnostic]) -> String {
    let count = |severity, one: &str| {
        let number = diagnostics
            .iter()
            .filter(|d| d.severity == severity)
            .count();
        match number {
            0 => None,
            1 => Some(format!("1 {one}")),
            _ => Some(format!("{number} {one}s")),
        }
    };
    let counts = [
        count(Severity::Error, "error"),
        count(Severity::Warning, "warning"),
        count(Severity::Note, "note"),
    ];
    counts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
