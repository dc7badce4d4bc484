//! String types with a validation rule.

/// Declares a validated string type. The rule returns the reason why a text is
/// invalid.
macro_rules! checked_text {
    (
        $(#[$meta:meta])*
        $vis:vis struct $type:ident($kind:literal, $validate:path $(, suggest = $suggest:path)?);
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
        #[serde(transparent)]
        $vis struct $type(String);

        impl $type {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::Invalid;

            fn from_str(text: &str) -> Result<Self, $crate::Invalid> {
                let Some(reason) = $validate(text) else {
                    return Ok(Self(text.to_owned()));
                };
                let invalid = $crate::Invalid::new($kind, text, reason);
                $(
                    let corrected: String = $suggest(text);
                    let good = corrected != text && $validate(&corrected).is_none();
                    let invalid = invalid.suggest(good.then_some(corrected));
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

pub(crate) fn line_error(text: &str, max: usize) -> Option<String> {
    if text.trim().is_empty() {
        return Some("it is empty".to_owned());
    }
    if text.trim() != text {
        return Some("it must not start or end with a space".to_owned());
    }
    if text.contains(char::is_control) {
        return Some("it contains control characters".to_owned());
    }
    let length = text.chars().count();
    (length > max).then(|| format!("it has {length} characters, the limit is {max}"))
}
