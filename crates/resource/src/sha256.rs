//! SHA-256 digests: pin blobs, and represent contents in diffs.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::Digest;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a valid SHA-256: it must have 64 hexadecimal digits")]
pub struct Sha256Error(String);

/// A SHA-256 digest; as text, 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sha256([u8; 32]);

impl Sha256 {
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// A digest computed elsewhere, for example over a stream.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first digits, for display.
    #[must_use]
    pub fn short(&self) -> String {
        self.to_string().chars().take(12).collect()
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for Sha256 {
    type Err = Sha256Error;

    fn from_str(text: &str) -> Result<Self, Sha256Error> {
        let wrong = || Sha256Error(text.chars().take(70).collect());
        if text.len() != 64 || !text.is_ascii() {
            return Err(wrong());
        }
        let mut bytes = [0; 32];
        for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let digit = |at: usize| {
                let digit = digits.get(at).copied().map(char::from)?;
                digit
                    .to_digit(16)
                    .and_then(|value| u8::try_from(value).ok())
            };
            let (high, low) = (digit(0).ok_or_else(wrong)?, digit(1).ok_or_else(wrong)?);
            *byte = high << 4 | low;
        }
        Ok(Self(bytes))
    }
}

impl TryFrom<String> for Sha256 {
    type Error = Sha256Error;
    fn try_from(text: String) -> Result<Self, Sha256Error> {
        text.parse()
    }
}

impl From<Sha256> for String {
    fn from(digest: Sha256) -> Self {
        digest.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        let digest = Sha256::of(b"abc");
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digest.to_string(), text);
        assert_eq!(text.parse(), Ok(digest));
        assert!("xy".parse::<Sha256>().is_err());
        assert!("+7".repeat(32).parse::<Sha256>().is_err());
    }
}
