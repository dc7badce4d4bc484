//! What a person is told when something is in the way: what, why, what to do.

use std::borrow::Cow;
use std::fmt;

/// A failure in words for a person, where nobody acts differently on different
/// failures: it is printed, and that is the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Stable for ever, for example `CAS-LAB-003`.
    pub code: Cow<'static, str>,
    /// One line: what is wrong.
    pub what: String,
    /// What was seen, as label and value; values may have several lines.
    pub seen: Vec<(String, String)>,
    /// What to do about it.
    pub remedy: String,
}

impl Problem {
    /// A problem with nothing seen yet.
    pub fn new(
        code: impl Into<Cow<'static, str>>,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            code: code.into(),
            what: what.into(),
            seen: Vec::new(),
            remedy: remedy.into(),
        }
    }

    /// Adds a value that was seen.
    #[must_use]
    pub fn seen(mut self, label: impl Into<String>, value: impl fmt::Display) -> Self {
        self.seen.push((label.into(), value.to_string()));
        self
    }
}

/// The room that labels have at least: one problem below the other looks like one
/// table.
const NARROWEST: usize = 9;
/// The room that a value has at least, however narrow the terminal is.
const LEAST: usize = 30;

impl Problem {
    /// The text for a terminal that is so wide: lines are broken between words,
    /// and never within what stands in backticks, which somebody may want to copy.
    #[must_use]
    pub fn folded(&self, columns: usize) -> String {
        let mut text = String::new();
        let what = format!("error[{}]: {}", self.code, self.what);
        for (number, line) in fold(&what, columns, 2).iter().enumerate() {
            text.push_str(if number == 0 { "" } else { "  " });
            text.push_str(line);
            text.push('\n');
        }
        let labels = self.seen.iter().map(|(label, _)| label.chars().count());
        let width = labels.max().unwrap_or(0).max(NARROWEST);
        let seen = self.seen.iter();
        let seen = seen.map(|(label, value)| (label.as_str(), value.as_str()));
        for (label, value) in seen.chain([("remedy", self.remedy.as_str())]) {
            let room = columns.saturating_sub(width + 3).max(LEAST);
            let lines = value.lines().flat_map(|line| fold(line, room, 0));
            for (number, line) in lines.enumerate() {
                let label = if number == 0 { label } else { "" };
                text.push_str(&format!("  {label:<width$} {line}\n"));
            }
        }
        text
    }
}

/// Breaks a line between words; all but the first have so much less room.
fn fold(line: &str, columns: usize, indent: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words(line) {
        let room = columns.saturating_sub(if lines.len() > 1 { indent } else { 0 });
        let last = lines.last().map_or(0, |last| last.chars().count());
        let fits = last + word.trim_end().chars().count() <= room;
        match lines.last_mut() {
            Some(last) if fits || last.is_empty() => last.push_str(word),
            _ => lines.push(word.to_owned()),
        }
    }
    for line in &mut lines {
        line.truncate(line.trim_end().len());
    }
    lines
}

/// Words with the blanks after them; what stands in backticks is one.
fn words(line: &str) -> Vec<&str> {
    let (mut words, mut begin, mut quoted) = (Vec::new(), 0, false);
    let mut characters = line.char_indices().peekable();
    while let Some((_, character)) = characters.next() {
        quoted ^= character == '`';
        let next = characters.peek().copied();
        if let Some((at, next)) = next
            && character == ' '
            && next != ' '
            && !quoted
        {
            words.push(line.get(begin..at).unwrap_or_default());
            begin = at;
        }
    }
    words.push(line.get(begin..).unwrap_or_default());
    words
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.folded(usize::MAX))
    }
}

impl std::error::Error for Problem {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_what_then_values_then_the_way_on() {
        let problem = Problem::new("CAS-LAB-001", "Go is too old", "install Go 1.26")
            .seen("found", "1.19")
            .seen("needed", "1.26\nor newer");
        let expected = "error[CAS-LAB-001]: Go is too old\n  found     1.19\n  needed    1.26\n            or newer\n  remedy    install Go 1.26\n";
        assert_eq!(problem.to_string(), expected);
    }

    #[test]
    fn lines_are_broken_between_words_and_not_within_what_is_copied() {
        let remedy = "On Windows: `Add-Something -Online -Name X`, then `Start-Service sshd`.";
        let problem = Problem::new("CAS-SSH-005", "windows3 refuses the connection", remedy);
        let expected = "\
error[CAS-SSH-005]: windows3 refuses the
  connection
  remedy    On Windows:
            `Add-Something -Online -Name X`,
            then `Start-Service sshd`.
";
        assert_eq!(problem.folded(46), expected);
        let narrow = problem.folded(1);
        assert!(
            narrow.contains("`Add-Something -Online -Name X`"),
            "{narrow}"
        );
    }
}
