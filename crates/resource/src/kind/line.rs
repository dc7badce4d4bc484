//! `line`: one line in a file that casement does not own.

use serde::{Deserialize, Serialize};

use crate::{Change, Diff, HostPath, LineText};

/// A missing file is created.
///
/// The line is `prefix` and `rest` together, so that the prefix identifies it when the
/// rest changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Line {
    pub path: HostPath,
    /// The line with this prefix is replaced; without a prefix, the line is appended.
    pub prefix: Option<LineText>,
    /// The rest of the line.
    pub rest: LineText,
}

/// The file that should contain the line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum LineFacts {
    /// The file does not exist.
    NoFile,
    /// The path exists, but is not a text file.
    InTheWay,
    Text(String),
}

/// The result of searching a line.
#[derive(Debug, PartialEq, Eq)]
pub enum LineFound<'a> {
    NotFound,
    /// The line found.
    Once(&'a str),
    /// The number of matches: it is ambiguous which one is meant.
    Multiple(usize),
}

impl Line {
    #[must_use]
    pub fn text(&self) -> String {
        let prefix = self.prefix.as_ref().map_or("", |prefix| prefix.as_str());
        format!("{prefix}{}", self.rest)
    }

    #[must_use]
    pub fn diff(&self, facts: &LineFacts) -> Diff {
        let wanted = self.text();
        let text = match facts {
            LineFacts::NoFile => return Diff::Changes(vec![Change::missing("line", wanted)]),
            LineFacts::InTheWay => {
                let change = Change::field("type", "not a text file", "file");
                return Diff::Changes(vec![change]);
            }
            LineFacts::Text(text) => text,
        };
        match self.find(text) {
            LineFound::Once(line) if line == wanted => {
                Diff::unchanged(format!("`{line}` is present"))
            }
            LineFound::Once(line) => Diff::Changes(vec![Change::field("line", line, wanted)]),
            LineFound::NotFound => Diff::Changes(vec![Change::missing("line", wanted)]),
            LineFound::Multiple(count) => {
                let before = format!("{count} lines with this prefix");
                Diff::Changes(vec![Change::field("line", before, wanted)])
            }
        }
    }

    /// Finds the line or the one to replace. Equal lines without a prefix count as one.
    #[must_use]
    pub fn find<'a>(&self, text: &'a str) -> LineFound<'a> {
        let wanted = self.text();
        let is_it = |line: &&str| match &self.prefix {
            Some(prefix) => line.starts_with(prefix.as_str()),
            None => *line == wanted,
        };
        let found: Vec<&str> = text.split('\n').filter(is_it).collect();
        match (found.as_slice(), &self.prefix) {
            ([], _) => LineFound::NotFound,
            ([line], _) | ([line, ..], None) => LineFound::Once(line),
            (several, Some(_)) => LineFound::Multiple(several.len()),
        }
    }

    /// The text with the line.
    #[must_use]
    pub fn insert(&self, text: &str) -> String {
        match self.find(text) {
            LineFound::Once(line) => replaced(text, line, Some(&self.text())),
            LineFound::NotFound | LineFound::Multiple(_) => appended(text, &self.text()),
        }
    }

    /// The text with the prior line in place of this one, or without it. A text without
    /// the line is unchanged.
    #[must_use]
    pub fn restore(&self, text: &str, before: Option<&str>) -> String {
        replaced(text, &self.text(), before)
    }
}

/// Keeps whether the text ends with a line break, so that a removal restores it
/// exactly.
fn appended(text: &str, line: &str) -> String {
    match text.strip_suffix('\n') {
        Some(lines) => format!("{lines}\n{line}\n"),
        None if text.is_empty() => format!("{line}\n"),
        None => format!("{text}\n{line}"),
    }
}

/// Replaces the last match, because lines are appended at the end.
fn replaced(text: &str, line: &str, by: Option<&str>) -> String {
    let mut lines: Vec<&str> = text.split('\n').collect();
    if let Some(at) = lines.iter().rposition(|found| *found == line) {
        lines.splice(at..=at, by);
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(prefix: Option<&str>, rest: &str) -> Line {
        Line {
            path: "/etc/x".parse().unwrap(),
            prefix: prefix.map(|prefix| prefix.parse().unwrap()),
            rest: rest.parse().unwrap(),
        }
    }

    #[test]
    fn an_appended_line_is_removed_without_a_trace() {
        let wanted = line(None, "b");
        for (before, after) in [
            ("", "b\n"),
            ("a\n", "a\nb\n"),
            ("a", "a\nb"),
            ("a\n\n", "a\n\nb\n"),
            ("\n", "\nb\n"),
        ] {
            assert_eq!(wanted.insert(before), after, "{before:?}");
            let facts = LineFacts::Text(after.to_owned());
            assert!(wanted.diff(&facts).in_sync(), "{after:?}");
            assert_eq!(wanted.restore(after, None), before, "{after:?}");
            assert_eq!(wanted.restore(before, None), before, "{before:?}");
        }
    }

    #[test]
    fn the_line_with_the_prefix_is_replaced_in_place() {
        let wanted = line(Some("SELINUX="), "permissive");
        let before = "a\nSELINUX=enforcing\nSELINUXTYPE=targeted\n";
        assert_eq!(wanted.find(before), LineFound::Once("SELINUX=enforcing"));
        let after = wanted.insert(before);
        assert_eq!(after, "a\nSELINUX=permissive\nSELINUXTYPE=targeted\n");
        assert_eq!(wanted.insert(&after), after);
        assert_eq!(wanted.restore(&after, Some("SELINUX=enforcing")), before);
    }

    #[test]
    fn ambiguous_prefixes_are_a_change() {
        let facts = LineFacts::Text("a=1\na=2\n".to_owned());
        let wanted = line(Some("a="), "2");
        assert!(!wanted.diff(&facts).in_sync());
        assert_eq!(wanted.find("a=1\na=2\n"), LineFound::Multiple(2));
        assert!(!wanted.diff(&LineFacts::NoFile).in_sync());
        assert!(!wanted.diff(&LineFacts::InTheWay).in_sync());
        let twice = LineFacts::Text("x\nx\n".to_owned());
        assert!(line(None, "x").diff(&twice).in_sync());
    }
}
