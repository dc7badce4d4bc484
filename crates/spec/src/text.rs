//! Texts that follow a rule: one type each, made by one macro.

/// A text that is checked when it is made.
///
/// The rule is a function from the text to the reason why it does not do.
macro_rules! checked_text {
    (
        $(#[$meta:meta])*
        $vis:vis struct $type:ident($kind:literal, $fault:path $(, mend = $mend:path)?);
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
        #[serde(transparent)]
        $vis struct $type(String);

        impl $type {
            /// As written.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::Invalid;

            fn from_str(text: &str) -> Result<Self, $crate::Invalid> {
                let Some(reason) = $fault(text) else {
                    return Ok(Self(text.to_owned()));
                };
                let invalid = $crate::Invalid::new($kind, text, reason);
                $(
                    let mended: String = $mend(text);
                    let good = mended != text && $fault(&mended).is_none();
                    let invalid = invalid.suggest(good.then_some(mended));
                )?
                Err(invalid)
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

pub(crate) use checked_text;

/// Why a text is no line that a person would type, if so.
pub(crate) fn line_fault(text: &str, most: usize) -> Option<String> {
    if text.trim().is_empty() {
        return Some("it is empty".to_owned());
    }
    if text.trim() != text {
        return Some("it begins or ends with a space".to_owned());
    }
    if text.contains(char::is_control) {
        return Some("it has control characters in it".to_owned());
    }
    let length = text.chars().count();
    (length > most).then(|| format!("it has {length} characters, {most} are allowed"))
}
