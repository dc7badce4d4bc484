//! Errors for the user: what happened, details, and help.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// An error message for the user, for failures that no caller handles differently.
///
/// As JSON it is the `error` object of documents and of the record of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "ErrorObject", into = "ErrorObject")]
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

/// [`Problem`] as JSON: the two values that disagree have fields of their own.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ErrorObject {
    code: Cow<'static, str>,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expected: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    found: Option<String>,
    help: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    details: Vec<Detail>,
}

/// A list and not a map: labels can repeat, and their order is that of the message.
#[derive(Serialize, Deserialize)]
struct Detail {
    label: String,
    value: String,
}

const EXPECTED: &str = "expected";
const FOUND: &str = "found";

impl From<Problem> for ErrorObject {
    fn from(problem: Problem) -> Self {
        let (mut expected, mut found, mut details) = (None, None, Vec::new());
        for (label, value) in problem.detail {
            match label.as_str() {
                EXPECTED if expected.is_none() => expected = Some(value),
                FOUND if found.is_none() => found = Some(value),
                _ => details.push(Detail { label, value }),
            }
        }
        Self {
            code: problem.code,
            message: problem.what,
            expected,
            found,
            help: problem.help,
            details,
        }
    }
}

impl From<ErrorObject> for Problem {
    fn from(error: ErrorObject) -> Self {
        let values = [(EXPECTED, error.expected), (FOUND, error.found)];
        let values = values.into_iter();
        let values = values.filter_map(|(label, value)| Some((label.to_owned(), value?)));
        let details = error.details.into_iter().map(|it| (it.label, it.value));
        Self {
            code: error.code,
            what: error.message,
            detail: values.chain(details).collect(),
            help: error.help,
        }
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
    fn as_json_the_values_that_disagree_have_fields_of_their_own() {
        let problem = Problem::new("CAS-NODE-008", "the kubelet stopped", "look at its log")
            .detail("host", "win1")
            .detail("expected", "running")
            .detail("found", "stopped")
            .detail("found", "no process");
        let expected = serde_json::json!({
            "code": "CAS-NODE-008",
            "message": "the kubelet stopped",
            "expected": "running",
            "found": "stopped",
            "help": "look at its log",
            "details": [
                {"label": "host", "value": "win1"},
                {"label": "found", "value": "no process"},
            ],
        });
        assert_eq!(serde_json::to_value(&problem).unwrap(), expected);
        let read: Problem = serde_json::from_value(expected.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), expected);
        assert_eq!(read.detail.len(), problem.detail.len());
        // A problem without details has only what every problem has.
        let plain = serde_json::to_value(Problem::new("C", "m", "h")).unwrap();
        assert_eq!(plain.as_object().unwrap().len(), 3, "{plain}");
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
