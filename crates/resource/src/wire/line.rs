//! Lines: `casement1 {json}\n`, ASCII only, at most 1 MiB.
//!
//! A shell may stand between the two sides and say things of its own, so what
//! lacks the prefix is kept as noise and never an error.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// What every line of ours starts with; the number is the protocol's.
pub const PREFIX: &str = "casement1 ";

/// The longest line, with its end.
pub const LIMIT: usize = 1024 * 1024;

/// Why something cannot be said, or was not understood.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// Longer than a line may be.
    #[error("a line has at most {LIMIT} bytes, this one has {0}")]
    TooLong(usize),
    /// It has the prefix, but is no message.
    #[error("a line is no message that is known here: {error}")]
    Malformed {
        /// What the parser says; of a line that may hold a secret only where.
        error: String,
    },
    /// The prefix of another protocol version.
    #[error("the other side speaks `{found}`, this one `{}`", PREFIX.trim_end())]
    Version {
        /// Its prefix.
        found: String,
    },
    /// A value that JSON cannot hold.
    #[error("the message cannot be written as JSON")]
    Json(#[source] serde_json::Error),
}

/// The line for a message, with its end.
pub fn encode(message: &impl Serialize) -> Result<String, LineError> {
    let json = serde_json::to_string(message).map_err(LineError::Json)?;
    let mut line = String::with_capacity(PREFIX.len() + json.len() + 1);
    line.push_str(PREFIX);
    // Beyond ASCII there are only the insides of strings, where \u is allowed.
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

/// One line as it was understood.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<M> {
    /// A message.
    Message(M),
    /// Something else that was said: a banner, a profile's chatter.
    Noise(String),
}

/// Makes lines of bytes that come in pieces of any size.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// Where the search for the next end of line goes on.
    searched: usize,
}

impl Decoder {
    /// A decoder that has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes bytes in; [`next`](Self::next_line) gives the lines out.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole line, or none until more bytes are there. After an error
    /// the decoder stands behind the line that caused it.
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
        understand(&line).map(Some)
    }

    /// What came after the last end of line: noise without an end.
    #[must_use]
    pub fn rest(&self) -> String {
        String::from_utf8_lossy(&self.buffer).into_owned()
    }
}

/// A parser's words hold values: not of a line that holds secrets (a `pull` may,
/// in its addresses), nor of one that might, if only it were whole.
fn said(json: &[u8], error: &serde_json::Error) -> String {
    let value: Option<serde_json::Value> = serde_json::from_slice(json).ok();
    let open = |value: &serde_json::Value| {
        ["secrets", "pull"]
            .iter()
            .all(|name| value.get(name).is_none())
    };
    match value {
        Some(value) if open(&value) => error.to_string(),
        _ => format!("{:?} error at column {}", error.classify(), error.column()),
    }
}

fn understand<M: DeserializeOwned>(line: &[u8]) -> Result<Line<M>, LineError> {
    // cmd.exe and PowerShell may put a byte order mark before the first line.
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    if let Some(json) = line.strip_prefix(PREFIX.as_bytes()) {
        return serde_json::from_slice(json)
            .map(Line::Message)
            .map_err(|error| LineError::Malformed {
                error: said(json, &error),
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
            assert!(!said(line, &error).contains("s3cret"));
        }
        let line = b"{\"paint\":{\"colour\":\"blue\"}}";
        let error = serde_json::from_slice::<crate::wire::ToAgent>(line).unwrap_err();
        assert!(said(line, &error).contains("unknown variant `paint`"));
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
