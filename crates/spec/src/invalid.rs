//! Why a value is not what it should be.

/// A value that its type does not admit.
///
/// One type for all of them: nobody acts differently on them, they are shown to
/// the person who wrote the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{value}` is no {kind}: {reason}")]
pub struct Invalid {
    /// What the value should be, such as `host name`.
    pub kind: &'static str,
    /// What it is, cut to a length that a message can bear.
    pub value: String,
    /// Why that does not do.
    pub reason: String,
    /// What was probably meant; always a valid value itself.
    pub suggestion: Option<String>,
}

impl Invalid {
    pub(crate) fn new(kind: &'static str, value: &str, reason: impl Into<String>) -> Self {
        Self {
            kind,
            value: shortened(value),
            reason: reason.into(),
            suggestion: None,
        }
    }

    /// Keeps the suggestion only if it is valid, which the caller finds out.
    pub(crate) fn suggest(mut self, value: Option<String>) -> Self {
        self.suggestion = value;
        self
    }
}

fn shortened(value: &str) -> String {
    match value.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", value.get(..end).unwrap_or_default()),
        None => value.to_owned(),
    }
}
