//! `line`: one line in a file whose other lines are somebody else's.

use serde::{Deserialize, Serialize};

use crate::{Change, Diff, HostPath, LineText};

/// A line that should be in a file; the file is made if need be.
///
/// The line is `prefix` and `rest` together, so that it is found again by the
/// same prefix when its rest changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Line {
    /// The file.
    pub path: HostPath,
    /// The one line that begins like this is replaced; without a prefix none
    /// is, and the line comes last.
    pub prefix: Option<LineText>,
    /// How it goes on.
    pub rest: LineText,
}

/// A file with regard to one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum LineFacts {
    /// There is no such file.
    NoFile,
    /// Something that is no plain file, or no text, has its name.
    InTheWay,
    /// What the file holds.
    Text(String),
}

/// Where in a text a line is.
#[derive(Debug, PartialEq, Eq)]
pub enum LineFound<'a> {
    /// Nowhere.
    Nowhere,
    /// Here: the line as it is.
    Once(&'a str),
    /// At several places, this many: which one is meant cannot be told.
    Often(usize),
}

impl Line {
    /// The whole line.
    #[must_use]
    pub fn text(&self) -> String {
        let prefix = self.prefix.as_ref().map_or("", |prefix| prefix.as_str());
        format!("{prefix}{}", self.rest)
    }

    /// What is to change.
    #[must_use]
    pub fn diff(&self, facts: &LineFacts) -> Diff {
        let wanted = self.text();
        let text = match facts {
            LineFacts::NoFile => return Diff::Changes(vec![Change::missing("line", wanted)]),
            LineFacts::InTheWay => {
                let change = Change::field("exists", "no plain text file", "a file");
                return Diff::Changes(vec![change]);
            }
            LineFacts::Text(text) => text,
        };
        match self.find(text) {
            LineFound::Once(line) if line == wanted => Diff::right(format!("`{line}` is there")),
            LineFound::Once(line) => Diff::Changes(vec![Change::field("line", line, wanted)]),
            LineFound::Nowhere => Diff::Changes(vec![Change::missing("line", wanted)]),
            LineFound::Often(count) => {
                let before = format!("{count} lines that begin like it");
                Diff::Changes(vec![Change::field("line", before, wanted)])
            }
        }
    }

    /// Where the line, or the one that it replaces, is. Equal lines without a
    /// prefix are as good as one.
    #[must_use]
    pub fn find<'a>(&self, text: &'a str) -> LineFound<'a> {
        let wanted = self.text();
        let is_it = |line: &&str| match &self.prefix {
            Some(prefix) => line.starts_with(prefix.as_str()),
            None => *line == wanted,
        };
        let found: Vec<&str> = text.split('\n').filter(is_it).collect();
        match (found.as_slice(), &self.prefix) {
            ([], _) => LineFound::Nowhere,
            ([line], _) | ([line, ..], None) => LineFound::Once(line),
            (several, Some(_)) => LineFound::Often(several.len()),
        }
    }

    /// The text with the line in it.
    #[must_use]
    pub fn put(&self, text: &str) -> String {
        match self.find(text) {
            LineFound::Once(line) => replaced(text, line, Some(&self.text())),
            LineFound::Nowhere | LineFound::Often(_) => appended(text, &self.text()),
        }
    }

    /// The text with what was there before in place of the line, or without it.
    /// A text without the line stays as it is.
    #[must_use]
    pub fn taken_back(&self, text: &str, before: Option<&str>) -> String {
        replaced(text, &self.text(), before)
    }
}

/// A text that ends in a line break ends in one again, and one that does not,
/// does not: so taking the line out gives the very same text.
fn appended(text: &str, line: &str) -> String {
    match text.strip_suffix('\n') {
        Some(lines) => format!("{lines}\n{line}\n"),
        None if text.is_empty() => format!("{line}\n"),
        None => format!("{text}\n{line}"),
    }
}

/// The last such line, which is where one is appended.
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
    fn a_line_is_appended_and_taken_out_without_a_trace() {
        let wanted = line(None, "b");
        for (before, after) in [
            ("", "b\n"),
            ("a\n", "a\nb\n"),
            ("a", "a\nb"),
            ("a\n\n", "a\n\nb\n"),
            ("\n", "\nb\n"),
        ] {
            assert_eq!(wanted.put(before), after, "{before:?}");
            let facts = LineFacts::Text(after.to_owned());
            assert!(wanted.diff(&facts).is_right(), "{after:?}");
            assert_eq!(wanted.taken_back(after, None), before, "{after:?}");
            assert_eq!(wanted.taken_back(before, None), before, "{before:?}");
        }
    }

    #[test]
    fn the_line_with_the_prefix_is_replaced_where_it_stands() {
        let wanted = line(Some("SELINUX="), "permissive");
        let before = "a\nSELINUX=enforcing\nSELINUXTYPE=targeted\n";
        assert_eq!(wanted.find(before), LineFound::Once("SELINUX=enforcing"));
        let after = wanted.put(before);
        assert_eq!(after, "a\nSELINUX=permissive\nSELINUXTYPE=targeted\n");
        assert_eq!(wanted.put(&after), after);
        assert_eq!(wanted.taken_back(&after, Some("SELINUX=enforcing")), before);
    }

    #[test]
    fn which_of_several_is_meant_is_not_guessed() {
        let facts = LineFacts::Text("a=1\na=2\n".to_owned());
        let wanted = line(Some("a="), "2");
        assert!(!wanted.diff(&facts).is_right());
        assert_eq!(wanted.find("a=1\na=2\n"), LineFound::Often(2));
        assert!(!wanted.diff(&LineFacts::NoFile).is_right());
        assert!(!wanted.diff(&LineFacts::InTheWay).is_right());
        let twice = LineFacts::Text("x\nx\n".to_owned());
        assert!(line(None, "x").diff(&twice).is_right());
    }
}
