//! A Linux file mode, as used by `chmod`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a valid mode: use three or four digits from 0 to 7, as in `0640`")]
pub struct ModeError(String);

/// For example `0640`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Mode(u32);

impl Mode {
    #[must_use]
    pub fn bits(self) -> u32 {
        self.0
    }
}

impl FromStr for Mode {
    type Err = ModeError;
    fn from_str(text: &str) -> Result<Self, ModeError> {
        let digits = (3..=4).contains(&text.len()) && text.bytes().all(|it| it.is_ascii_digit());
        match u32::from_str_radix(text, 8) {
            Ok(bits) if digits => Ok(Self(bits)),
            _ => Err(ModeError(text.chars().take(40).collect())),
        }
    }
}

impl TryFrom<String> for Mode {
    type Error = ModeError;
    fn try_from(text: String) -> Result<Self, ModeError> {
        text.parse()
    }
}

impl From<Mode> for String {
    fn from(mode: Mode) -> Self {
        mode.to_string()
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:04o}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_parse_and_print_like_chmod() {
        for (text, bits) in [("0640", 0o640), ("755", 0o755), ("4755", 0o4755)] {
            assert_eq!(text.parse::<Mode>().unwrap().bits(), bits);
        }
        assert_eq!("755".parse::<Mode>().unwrap().to_string(), "0755");
        for text in ["", "0", "+640", "0880", "rw-r--r--", "00640"] {
            assert!(text.parse::<Mode>().is_err(), "{text}");
        }
    }
}
