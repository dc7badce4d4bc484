//! Diagnostics as data.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::path::{FieldPath, Part};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Error,
    Warning,
    Note,
}

/// The stable name of a rule or error, such as `CAS-NET-003`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Code(Cow<'static, str>);

impl Code {
    /// Codes are constants and never change.
    pub const fn new(code: &'static str) -> Self {
        Self(Cow::Borrowed(code))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A note attached to a place in the source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// `None`: the file of the diagnostic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    pub path: FieldPath,
    #[serde(default, skip_serializing_if = "Part::is_value")]
    pub part: Part,
    pub text: String,
}

/// An edit that fixes the diagnostic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fix {
    /// Imperative: "rename it to `podCidr`".
    pub title: String,
    /// They do not overlap.
    pub edits: Vec<Edit>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// `None`: the file of the diagnostic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    pub path: FieldPath,
    #[serde(default, skip_serializing_if = "Part::is_value")]
    pub part: Part,
    pub replacement: String,
}

/// What is wrong, where, why, and how to fix it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    pub code: Option<Code>,
    pub severity: Severity,
    /// `None` if there is only one file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    pub path: FieldPath,
    #[serde(default, skip_serializing_if = "Part::is_value")]
    pub part: Part,
    /// One line, lower case, with the conflicting values.
    pub message: String,
    /// A label at the place of the diagnostic is shown next to its underline.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Label>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    pub help: Option<String>,
    /// Only if the fix is known to be correct.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
}

impl Diagnostic {
    pub fn error(path: FieldPath, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, path, message)
    }

    pub fn warning(path: FieldPath, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, path, message)
    }

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

    #[must_use]
    pub fn code(mut self, code: Code) -> Self {
        self.code = Some(code);
        self
    }

    #[must_use]
    pub fn at(mut self, part: Part) -> Self {
        self.part = part;
        self
    }

    /// Adds a label at the diagnostic itself; call [`Self::at`] first.
    #[must_use]
    pub fn here(self, text: impl Into<String>) -> Self {
        let (path, part) = (self.path.clone(), self.part.clone());
        self.label_at(path, part, text)
    }

    #[must_use]
    pub fn label(self, path: FieldPath, text: impl Into<String>) -> Self {
        self.label_at(path, Part::Value, text)
    }

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

    #[must_use]
    pub fn in_file(mut self, file: impl Into<String>) -> Self {
        self.file = Some(file.into());
        self
    }

    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds a fix that replaces the value the diagnostic points at.
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

pub fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|d| d.severity == Severity::Error)
}

/// For example `2 errors, 1 warning`; empty if there are none.
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
