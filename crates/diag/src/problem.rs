//! Errors for the user: what happened, details, and help.

use std::borrow::Cow;
use std::fmt;

/// An error message for the user, for failures that no caller handles differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Stable, for example `CAS-LAB-001`.
    pub code: Cow<'static, str>,
    pub what: String,
    /// Label and value; values may have several lines.
    pub detail: Vec<(String, String)>,
    pub help: String,
}

impl Problem {
    pub fn new(
        code: impl Into<Cow<'static, str>>,
        what: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self {
            code: code.into(),
            what: what.into(),
            detail: Vec::new(),
            help: help.into(),
        }
    }

    #[must_use]
    pub fn detail(mut self, label: impl Into<String>, value: impl fmt::Display) -> Self {
        self.detail.push((label.into(), value.to_string()));
        self
    }
}

/// Minimum label width, so that consecutive problems align.
const MIN_LABEL_WIDTH: usize = 9;
/// Minimum width of the value column on narrow terminals.
const MIN_VALUE_WIDTH: usize = 30;

impl Problem {
    /// The message wrapped to the width of a terminal. Text in backticks is kept on
    /// one line so that it can be copied.
    #[must_use]
    pub fn wrapped(&self, columns: usize) -> String {
        let mut text = String::new();
        let what = format!("error[{}]: {}", self.code, self.what);
        for (number, line) in wrap(&what, columns, 2).iter().enumerate() {
            text.push_str(if number == 0 { "" } else { "  " });
            text.push_str(line);
            text.push('\n');
        }
        let labels = self.detail.iter().map(|(label, _)| label.chars().count());
        let width = labels.max().unwrap_or(0).max(MIN_LABEL_WIDTH);
        let details = self.detail.iter();
        let details = details.map(|(label, value)| (label.as_str(), value.as_str()));
        for (label, value) in details.chain([("help", self.help.as_str())]) {
            let value_width = columns.saturating_sub(width + 3).max(MIN_VALUE_WIDTH);
            let lines = value.lines().flat_map(|line| wrap(line, value_width, 0));
            for (number, line) in lines.enumerate() {
                let label = if number == 0 { label } else { "" };
                text.push_str(&format!("  {label:<width$} {line}\n"));
            }
        }
        text
    }
}

/// `indent` narrows all lines but the first.
fn wrap(line: &str, columns: usize, indent: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words(line) {
        let width = columns.saturating_sub(if lines.len() > 1 { indent } else { 0 });
        let last = lines.last().map_or(0, |last| last.chars().count());
        let fits = last + word.trim_end().chars().count() <= width;
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

/// Words with their trailing spaces; text in backticks is one word.
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
        f.write_str(&self.wrapped(usize::MAX))
    }
}

impl std::error::Error for Problem {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_what_then_details_then_help() {
        let problem = Problem::new("CAS-LAB-001", "Go is too old", "install Go 1.26")
            .detail("found", "1.19")
            .detail("needed", "1.26\nor newer");
        let expected = "error[CAS-LAB-001]: Go is too old\n  found     1.19\n  needed    1.26\n            or newer\n  help      install Go 1.26\n";
        assert_eq!(problem.to_string(), expected);
    }

    #[test]
    fn wraps_between_words_but_not_inside_backticks() {
        let help = "On Windows: `Add-Something -Online -Name X`, then `Start-Service sshd`.";
        let problem = Problem::new(
            "CAS-SSH-005",
            "connection refused by windows3 port 22",
            help,
        );
        let expected = "\
error[CAS-SSH-005]: connection refused by
  windows3 port 22
  help      On Windows:
            `Add-Something -Online -Name X`,
            then `Start-Service sshd`.
";
        assert_eq!(problem.wrapped(46), expected);
        let narrow = problem.wrapped(1);
        assert!(
            narrow.contains("`Add-Something -Online -Name X`"),
            "{narrow}"
        );
    }
}
