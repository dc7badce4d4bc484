//! Lines: `casement1 {json}\n`, ASCII only, at most 1 MiB.
//!
//! A shell between the two sides may print its own output, so lines without the
//! prefix are kept as noise and are never an error.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The prefix of every message; the number is the protocol version.
pub const PREFIX: &str = "casement1 ";

/// The longest line, including its ending.
pub const LIMIT: usize = 1024 * 1024;

/// Why a message could not be encoded or decoded.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// Longer than [`LIMIT`].
    #[error("a line of {0} bytes exceeds the limit of {LIMIT} bytes")]
    TooLong(usize),
    /// It has the prefix, but is not a valid message.
    #[error("invalid message: {error}")]
    Malformed {
        /// The parser's message; only the position if the line may contain a secret.
        error: String,
    },
    /// The peer uses another protocol version.
    #[error("protocol mismatch: the peer uses `{found}`, expected `{}`", PREFIX.trim_end())]
    Version { found: String },
    /// A value that JSON cannot hold.
    #[error("failed to encode the message as JSON")]
    Json(#[source] serde_json::Error),
}

/// Includes the line ending.
pub fn encode(message: &impl Serialize) -> Result<String, LineError> {
    let json = serde_json::to_string(message).map_err(LineError::Json)?;
    let mut line = String::with_capacity(PREFIX.len() + json.len() + 1);
    line.push_str(PREFIX);
    // Non-ASCII characters occur only in strings, where \u escapes are allowed.
    for character in json.chars() {
        if character.is_ascii() && character != '\u{7f}' {
            line.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                line.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    line.push('\n');
    if line.len() > LIMIT {
        return Err(LineError::TooLong(line.len()));
    }
    Ok(line)
}

/// A parsed line.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<M> {
    Message(M),
    /// Other output, such as a banner or a shell profile's.
    Noise(String),
}

/// Splits a byte stream into lines.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// Where the search for the next line ending resumes.
    searched: usize,
}

impl Decoder {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds bytes; [`next_line`](Self::next_line) returns the lines.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next complete line, or none until more bytes arrive. After an error the
    /// decoder continues with the following line.
    pub fn next_line<M: DeserializeOwned>(&mut self) -> Result<Option<Line<M>>, LineError> {
        let tail = self.buffer.get(self.searched..).unwrap_or_default();
        let Some(at) = tail.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.buffer.len();
            if self.buffer.len() > LIMIT {
                let length = self.buffer.len();
                self.buffer.clear();
                self.searched = 0;
                return Err(LineError::TooLong(length));
            }
            return Ok(None);
        };
        let mut line: Vec<u8> = self.buffer.drain(..=self.searched + at).collect();
        self.searched = 0;
        while line.last().is_some_and(u8::is_ascii_whitespace) {
            line.pop();
        }
        parse_line(&line).map(Some)
    }

    /// Output after the last line ending.
    #[must_use]
    pub fn rest(&self) -> String {
        String::from_utf8_lossy(&self.buffer).into_owned()
    }
}

/// Parser messages contain values, so they are hidden for lines that contain secrets (a
/// `pull` may, in its URLs), and for incomplete lines that might.
fn error_text(json: &[u8], error: &serde_json::Error) -> String {
    let value: Option<serde_json::Value> = serde_json::from_slice(json).ok();
    let without_secrets = |value: &serde_json::Value| {
        ["secrets", "pull"]
            .iter()
            .all(|name| value.get(name).is_none())
    };
    match value {
        Some(value) if without_secrets(&value) => error.to_string(),
        _ => format!("{:?} error at column {}", error.classify(), error.column()),
    }
}

fn parse_line<M: DeserializeOwned>(line: &[u8]) -> Result<Line<M>, LineError> {
    // cmd.exe and PowerShell may write a byte order mark before the first line.
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    if let Some(json) = line.strip_prefix(PREFIX.as_bytes()) {
        return serde_json::from_slice(json)
            .map(Line::Message)
            .map_err(|error| LineError::Malformed {
                error: error_text(json, &error),
            });
    }
    let text = String::from_utf8_lossy(line).into_owned();
    if let Some((found, json)) = text.split_once(' ')
        && found
            .strip_prefix("casement")
            .is_some_and(|number| number.parse::<u32>().is_ok())
        && json.starts_with('{')
    {
        return Err(LineError::Version {
            found: found.to_owned(),
        });
    }
    Ok(Line::Noise(text))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn lines(bytes: &[u8]) -> Vec<Result<Line<Value>, String>> {
        let mut decoder = Decoder::new();
        decoder.push(bytes);
        let mut lines = Vec::new();
        loop {
            match decoder.next_line() {
                Ok(None) => return lines,
                Ok(Some(line)) => lines.push(Ok(line)),
                Err(error) => lines.push(Err(error.to_string())),
            }
        }
    }

    #[test]
    fn noise_is_kept_and_ignored() {
        let bytes = b"Microsoft Windows [Version]\r\ncasement1 {\"a\":1}\r\n\ncasement1 x\n";
        let lines = lines(bytes);
        assert_eq!(
            lines[0],
            Ok(Line::Noise("Microsoft Windows [Version]".to_owned()))
        );
        assert_eq!(lines[1], Ok(Line::Message(json!({"a": 1}))));
        assert_eq!(lines[2], Ok(Line::Noise(String::new())));
        assert!(lines[3].is_err());
    }

    #[test]
    fn another_protocol_is_named() {
        let lines = lines(b"casement2 {\"a\":1}\n");
        assert!(lines[0].as_ref().unwrap_err().contains("`casement2`"));
    }

    #[test]
    fn an_error_does_not_repeat_the_line() {
        let lines = lines(b"casement1 {\"token\":\"s3cret\"\n");
        assert!(!lines[0].as_ref().unwrap_err().contains("s3cret"));
        for line in [
            b"{\"secrets\":{\"values\":\"s3cret\"}}".as_slice(),
            b"{\"pull\":{\"download\":\"s3cret\"}}",
        ] {
            let error = serde_json::from_slice::<crate::wire::ToAgent>(line).unwrap_err();
            assert!(error.to_string().contains("s3cret"), "{error}");
            assert!(!error_text(line, &error).contains("s3cret"));
        }
        let line = b"{\"paint\":{\"colour\":\"blue\"}}";
        let error = serde_json::from_slice::<crate::wire::ToAgent>(line).unwrap_err();
        assert!(error_text(line, &error).contains("unknown variant `paint`"));
    }

    #[test]
    fn a_line_that_never_ends_is_an_error_once() {
        let mut decoder = Decoder::new();
        decoder.push(&vec![b'x'; LIMIT + 1]);
        assert!(decoder.next_line::<Value>().is_err());
        decoder.push(b"casement1 1\n");
        assert_eq!(
            decoder.next_line::<Value>().unwrap(),
            Some(Line::Message(json!(1)))
        );
        assert!(encode(&"x".repeat(LIMIT)).is_err());
    }

    proptest! {
        #[test]
        fn any_text_travels_as_ascii_in_pieces(text in ".*", size in 1_usize..9) {
            let line = encode(&text).unwrap();
            prop_assert!(line.is_ascii());
            let mut decoder = Decoder::new();
            let mut found = Vec::new();
            for piece in line.as_bytes().chunks(size) {
                decoder.push(piece);
                found.extend(decoder.next_line::<String>().unwrap());
            }
            prop_assert_eq!(found, vec![Line::Message(text)]);
        }
    }
}
