//! One fact that several documents state, and whether they agree.

use casement_diag::{Diagnostic, FieldPath};
use casement_source::foreign::Value;

/// What one document says.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    /// Who says it: "flannel's `Network`".
    pub(crate) who: String,
    /// What is said.
    pub(crate) value: String,
    /// Where.
    pub(crate) file: String,
    pub(crate) path: FieldPath,
    /// Whether the value stands there, so that another can be put in its place.
    pub(crate) written: bool,
}

impl Said {
    /// What a value of a foreign file says.
    pub(crate) fn by(who: impl Into<String>, value: &Value<'_>) -> Option<Self> {
        Some(Self::meaning(who, value, value.text()?))
    }

    /// The same where the value stands for another.
    pub(crate) fn meaning(who: impl Into<String>, value: &Value<'_>, means: &str) -> Self {
        Self {
            who: who.into(),
            value: means.to_owned(),
            file: value.file().to_owned(),
            path: value.path().clone(),
            written: value.text() == Some(means),
        }
    }
}

/// A finding for each that differs from the first. `same` decides; `what` names
/// the fact, and `why` says what happens when it differs.
pub(crate) fn agree(
    said: &[Said],
    what: &str,
    why: &str,
    same: impl Fn(&str, &str) -> bool,
) -> Vec<Diagnostic> {
    let Some((first, others)) = said.split_first() else {
        return Vec::new();
    };
    let different = others
        .iter()
        .filter(|other| !same(&first.value, &other.value));
    different
        .map(|other| {
            let message = format!(
                "two {what}: {} is `{}`, {} is `{}`",
                other.who, other.value, first.who, first.value
            );
            let finding = Diagnostic::error(other.path.clone(), message)
                .within(other.file.as_str())
                .here(format!("`{}` here", other.value))
                .label_in(
                    first.file.as_str(),
                    first.path.clone(),
                    format!("`{}` here", first.value),
                )
                .note(why)
                .help(format!("write `{}` in both places", first.value));
            if other.written {
                let title = format!("write `{}`", first.value);
                finding.replace(title, format!("\"{}\"", first.value))
            } else {
                finding
            }
        })
        .collect()
}
