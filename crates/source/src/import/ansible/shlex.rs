//! Splits a host line like Python's `shlex.split(line, comments=True)`.
//!
//! Shells and existing crates do it differently: here `#` starts a comment even
//! inside a word (`password=a#b` is `password=a`).

use std::ops::Range;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) range: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unfinished {
    #[error("a quoted string is not closed")]
    Quote,
    #[error("there is nothing to escape after the final `\\`")]
    Escape,
}

pub(super) fn split(line: &str) -> Result<Vec<Word>, Unfinished> {
    let mut words = Vec::new();
    let mut chars = line.char_indices();
    let mut word: Option<Word> = None;
    while let Some((at, c)) = chars.next() {
        match c {
            ' ' | '\t' | '\r' | '\n' => words.extend(word.take()),
            '#' => break,
            _ => {
                let word = word.get_or_insert_with(|| Word {
                    text: String::new(),
                    range: at..at,
                });
                word.range.end = match c {
                    '\\' => {
                        let (at, c) = chars.next().ok_or(Unfinished::Escape)?;
                        word.text.push(c);
                        at + c.len_utf8()
                    }
                    '\'' | '"' => quoted(&mut chars, c, &mut word.text)?,
                    _ => {
                        word.text.push(c);
                        at + c.len_utf8()
                    }
                };
            }
        }
    }
    words.extend(word);
    Ok(words)
}

/// Reads the rest of a quoted string; returns the position after the closing quote.
fn quoted(
    chars: &mut std::str::CharIndices<'_>,
    quote: char,
    text: &mut String,
) -> Result<usize, Unfinished> {
    while let Some((at, c)) = chars.next() {
        match c {
            _ if c == quote => return Ok(at + c.len_utf8()),
            '\\' if quote == '"' => {
                let (_, escaped) = chars.next().ok_or(Unfinished::Escape)?;
                if !matches!(escaped, '\\' | '"') {
                    text.push('\\');
                }
                text.push(escaped);
            }
            _ => text.push(c),
        }
    }
    Err(Unfinished::Quote)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(line: &str) -> Vec<String> {
        let words = split(line).unwrap();
        words.into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn words_match_python_shlex() {
        assert_eq!(texts("a b=1\t c='d e'"), ["a", "b=1", "c=d e"]);
        assert_eq!(texts(r#"a b="c \"d\" \n \\""#), ["a", r#"b=c "d" \n \"#]);
        assert_eq!(texts(r"a b=C:\\k c='C:\k'"), ["a", r"b=C:\k", r"c=C:\k"]);
        assert_eq!(texts(r"a b=C:\k"), ["a", "b=C:k"]);
        assert_eq!(texts("a b=x#y c=d"), ["a", "b=x"]);
        assert_eq!(texts("a b='x#y' c=d"), ["a", "b=x#y", "c=d"]);
        assert_eq!(texts("a '' b=\"\""), ["a", "", "b="]);
        assert_eq!(split("a 'b"), Err(Unfinished::Quote));
        assert_eq!(split("a b\\"), Err(Unfinished::Escape));
    }

    #[test]
    fn words_have_byte_ranges() {
        let words = split(" a  b='ä c' # d").unwrap();
        let ranges: Vec<_> = words.into_iter().map(|word| word.range).collect();
        assert_eq!(ranges, [1..2, 4..12]);
    }
}
