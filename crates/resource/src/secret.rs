//! A secret value that is never printed.

use std::fmt;

use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

/// The value of a secret: `Debug` hides it, dropping it clears its memory.
///
/// It serializes as plain text, only for the `secrets` and `pull` messages; no journal,
/// record, event or document has a field of this type.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    #[must_use]
    pub fn new(value: String) -> Self {
        Self(value)
    }

    /// Four hex digits that change with the value (except for 1 in 65,536), to detect a
    /// rotated secret.
    ///
    /// They are stored in documents, so they must not help to guess the value: of a
    /// million guesses a dozen match, and each takes 65,536 hashes. `salt` separates
    /// different uses.
    #[must_use]
    pub fn fingerprint(&self, salt: &str) -> String {
        const ROUNDS: u32 = 65_536;
        let mut hash = crate::Sha256::of(format!("{salt}\0{}", self.0).as_bytes());
        for _ in 0..ROUNDS {
            hash = crate::Sha256::of(hash.as_bytes());
        }
        hash.to_string().chars().take(4).collect()
    }

    /// The plain value.
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
    fn a_fingerprint_depends_on_value_and_salt() {
        let print = |value: &str, salt: &str| Secret::new(value.to_owned()).fingerprint(salt);
        assert_eq!(print("a", "shop"), print("a", "shop"));
        assert_ne!(print("a", "shop"), print("b", "shop"));
        assert_ne!(print("a", "shop"), print("a", "mine"));
        assert_eq!(print("a", "shop").len(), 4);
    }

    #[test]
    fn debug_hides_the_value() {
        let secret = Secret::new("abcdef.0123456789abcdef".to_owned());
        assert_eq!(format!("{secret:?}"), "Secret(…)");
    }
}
