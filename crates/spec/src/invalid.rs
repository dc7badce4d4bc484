//! Validation errors of single values.

/// A value that is not valid for its type.
///
/// One type for all of them: no caller handles them differently.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{value}` is not a valid {kind}: {reason}")]
pub struct Invalid {
    /// What the value should be, such as `host name`.
    pub kind: &'static str,
    /// Truncated to 60 characters.
    pub value: String,
    pub reason: String,
    /// What was probably meant; always valid.
    pub suggestion: Option<String>,
}

impl Invalid {
    pub(crate) fn new(kind: &'static str, value: &str, reason: impl Into<String>) -> Self {
        Self {
            kind,
            value: truncated(value),
            reason: reason.into(),
            suggestion: None,
        }
    }

    /// The caller has checked that the suggestion is valid.
    pub(crate) fn suggest(mut self, value: Option<String>) -> Self {
        self.suggestion = value;
        self
    }
}

fn truncated(value: &str) -> String {
    match value.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", value.get(..end).unwrap_or_default()),
        None => value.to_owned(),
    }
}
