//! A value that nobody prints.

use std::fmt;

use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

/// The value of a secret: `Debug` hides it, dropping it clears its memory.
///
/// It serializes as plain text for one reason only, the `secrets` line of the
/// wire; no journal, record, event or document has a field of this type.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Takes the value over.
    #[must_use]
    pub fn new(value: String) -> Self {
        Self(value)
    }

    /// The value, for the one place that needs it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_hides_the_value() {
        let secret = Secret::new("abcdef.0123456789abcdef".to_owned());
        assert_eq!(format!("{secret:?}"), "Secret(…)");
    }
}
