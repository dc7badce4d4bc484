//! Values of one setting in several documents, and whether they agree.

use casement_diag::{Diagnostic, FieldPath};
use casement_source::foreign::Value;

/// The value of a setting in one document.
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    /// For messages: "flannel's `Network`".
    pub(crate) subject: String,
    pub(crate) value: String,
    pub(crate) file: String,
    pub(crate) path: FieldPath,
    /// Whether the value is written literally, so that a fix can replace it.
    pub(crate) literal: bool,
}

impl Statement {
    pub(crate) fn new(subject: impl Into<String>, value: &Value<'_>) -> Option<Self> {
        Some(Self::derived(subject, value, value.text()?))
    }

    /// A statement whose value is derived from the written one.
    pub(crate) fn derived(subject: impl Into<String>, value: &Value<'_>, derived: &str) -> Self {
        Self {
            subject: subject.into(),
            value: derived.to_owned(),
            file: value.file().to_owned(),
            path: value.path().clone(),
            literal: value.text() == Some(derived),
        }
    }
}

/// A finding for each statement that differs from the first according to `same`.
/// `what` names the setting in the plural, `why` describes the consequence.
pub(crate) fn disagreements(
    statements: &[Statement],
    what: &str,
    why: &str,
    same: impl Fn(&str, &str) -> bool,
) -> Vec<Diagnostic> {
    let Some((first, others)) = statements.split_first() else {
        return Vec::new();
    };
    let different = others
        .iter()
        .filter(|other| !same(&first.value, &other.value));
    different
        .map(|other| {
            let message = format!(
                "different {what}: {} is `{}`, but {} is `{}`",
                other.subject, other.value, first.subject, first.value
            );
            let finding = Diagnostic::error(other.path.clone(), message)
                .in_file(other.file.as_str())
                .here(format!("`{}` here", other.value))
                .label_in(
                    first.file.as_str(),
                    first.path.clone(),
                    format!("`{}` here", first.value),
                )
                .note(why)
                .help(format!("use `{}` in both places", first.value));
            if other.literal {
                let title = format!("set `{}`", first.value);
                finding.replace(title, format!("\"{}\"", first.value))
            } else {
                finding
            }
        })
        .collect()
}
