//! Python strings with escapes.

use super::{Expression, Parser};
use crate::import::ansible::value::Value;

/// Whether the text starts with a string that has a prefix: `r'…'`, `b"…"`.
pub(super) fn starts_string(text: &str) -> bool {
    opening(text).is_some()
}

/// Prefix and quotes of a string.
struct Opening {
    length: usize,
    raw: bool,
    bytes: bool,
    close: &'static str,
}

fn opening(text: &str) -> Option<Opening> {
    let prefix = text.find(['\'', '"']).filter(|length| *length <= 2)?;
    let (raw, bytes) = match text.get(..prefix)?.to_ascii_lowercase().as_str() {
        "" | "u" => (false, false),
        "r" => (true, false),
        "b" => (false, true),
        "br" | "rb" => (true, true),
        _ => return None,
    };
    let quotes = text.get(prefix..)?;
    let close = ["\"\"\"", "'''", "\"", "'"];
    let close = close.into_iter().find(|close| quotes.starts_with(close))?;
    Some(Opening {
        length: prefix + close.len(),
        raw,
        bytes,
        close,
    })
}

impl Parser<'_> {
    /// Adjacent strings are concatenated.
    pub(super) fn strings(&mut self) -> Option<Expression> {
        let mut all = String::new();
        let mut kind = None;
        while let Some(opening) = opening(self.rest) {
            if *kind.get_or_insert(opening.bytes) != opening.bytes {
                return None;
            }
            self.rest = self.rest.get(opening.length..)?;
            self.string(&opening, &mut all)?;
            self.skip();
        }
        kind.map(|_| Expression::of(Value::Text(all)))
    }

    fn string(&mut self, opening: &Opening, into: &mut String) -> Option<()> {
        loop {
            if let Some(after) = self.rest.strip_prefix(opening.close) {
                self.rest = after;
                return Some(());
            }
            let c = self.next()?;
            if opening.bytes && !c.is_ascii() {
                return None;
            }
            if c != '\\' {
                into.push(c);
            } else if opening.raw {
                into.push('\\');
                into.push(self.next()?);
            } else {
                self.escape(opening.bytes, into)?;
            }
        }
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = self.rest.get(c.len_utf8()..)?;
        Some(c)
    }

    fn escape(&mut self, bytes: bool, into: &mut String) -> Option<()> {
        let c = self.next()?;
        let code = match c {
            '\\' | '\'' | '"' => u32::from(c),
            'a' => 7,
            'b' => 8,
            'f' => 12,
            'n' => 10,
            'r' => 13,
            't' => 9,
            'v' => 11,
            '0'..='7' => self.octal(c),
            'x' => self.hexadecimal(2)?,
            'u' if !bytes => self.hexadecimal(4)?,
            'U' if !bytes => self.hexadecimal(8)?,
            'N' if !bytes => {
                self.reject("`\\N{…}` is not supported; use the character itself");
                return Some(());
            }
            other => {
                into.push('\\');
                u32::from(other)
            }
        };
        if bytes && code > 127 {
            self.reject("it contains bytes that are not ASCII");
            return Some(());
        }
        match char::from_u32(code) {
            Some(c) => into.push(c),
            None if code > 0x0010_ffff => return None,
            None => self.reject("it contains half of a surrogate pair"),
        }
        Some(())
    }

    fn octal(&mut self, first: char) -> u32 {
        let mut code = first.to_digit(8).unwrap_or_default();
        for _ in 0..2 {
            let Some(digit) = self.rest.chars().next().and_then(|c| c.to_digit(8)) else {
                break;
            };
            code = code * 8 + digit;
            self.rest = self.rest.get(1..).unwrap_or_default();
        }
        code
    }

    fn hexadecimal(&mut self, digits: usize) -> Option<u32> {
        let text = self.rest.get(..digits)?;
        let hexadecimal = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        self.rest = self.rest.get(digits..)?;
        hexadecimal.then(|| u32::from_str_radix(text, 16).ok())?
    }
}
