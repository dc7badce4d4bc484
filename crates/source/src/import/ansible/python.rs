//! Python string functions that differ from Rust.

/// Whether Python's `str.isspace` holds.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Python's `str.strip`.
pub(super) fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Python's `str.splitlines`, with the start of each line.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let ends = |c: char| {
        matches!(
            c,
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'
                ..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = text.get(start..).filter(|rest| !rest.is_empty())?;
        let length = rest.find(ends).unwrap_or(rest.len());
        let line = rest.get(..length).unwrap_or_default();
        let after = rest.get(length..).unwrap_or_default();
        let end = match after.chars().next() {
            Some('\r') if after.starts_with("\r\n") => 2,
            Some(end) => end.len_utf8(),
            None => 0,
        };
        let line_start = start;
        start += length + end;
        Some((line_start, line))
    })
}

/// Python's `int(text)`.
pub(super) fn int(text: &str) -> Option<i128> {
    let text = strip(text);
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let number: i128 = plain_digits(digits, 10)?.parse().ok()?;
    Some(if negative { -number } else { number })
}

/// Removes the single underscores that Python allows between digits.
pub(super) fn plain_digits(text: &str, radix: u32) -> Option<String> {
    let invalid = text.starts_with('_') || text.ends_with('_') || text.contains("__");
    let digits: String = text.chars().filter(|c| *c != '_').collect();
    let digital = !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
    (!invalid && digital).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_like_python() {
        let all: Vec<_> = lines("a\r\nb\u{c}\nc\u{2028}d").collect();
        assert_eq!(all, [(0, "a"), (3, "b"), (5, ""), (6, "c"), (10, "d")]);
        assert_eq!(lines("").count(), 0);
        assert_eq!(lines("a\n").count(), 1);
    }

    #[test]
    fn numbers_are_parsed_like_python() {
        assert_eq!(int(" +1_000 "), Some(1000));
        assert_eq!(int("-5"), Some(-5));
        for text in ["", "1__0", "_1", "1_", "0x1", "--1", "1.0"] {
            assert_eq!(int(text), None, "{text}");
        }
    }
}
