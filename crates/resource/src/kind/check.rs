//! `check`: a command whose output decides whether another one runs.
//!
//! The last resort, for what no other kind can say: only the two commands
//! themselves know what they do.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Change, Diff, HostPath};

/// A program with its arguments; no shell stands between, and no secret is
/// among them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Command {
    /// The program: a path, or a name on the search path.
    pub program: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Vec<String>,
}

impl Command {
    /// The program and its arguments, in one list.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let program = std::iter::once(&self.program);
        program.chain(&self.arguments).cloned().collect()
    }
}

impl fmt::Display for Command {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.words().join(" "))
    }
}

/// What the output of the question should be; space around it does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Answer {
    /// This and nothing else.
    Is(String),
    /// Anything with this in it.
    Contains(String),
}

impl fmt::Display for Answer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Is(text) => write!(formatter, "`{text}`"),
            Self::Contains(text) => write!(formatter, "something with `{text}`"),
        }
    }
}

/// A question and what is done until its answer is right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Check {
    /// What it is about, to people.
    pub name: String,
    /// The question; it changes nothing.
    pub ask: Command,
    /// Its right answer.
    pub wanted: Answer,
    /// Run once if the answer is another one.
    pub act: Command,
    /// Takes that back; run only while the answer is right.
    pub undo: Option<Command>,
    /// Where all of them start.
    pub folder: HostPath,
    /// How long each may take.
    pub timeout_seconds: u32,
}

/// The answer as found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckFacts {
    /// What the question wrote, to either stream.
    pub output: String,
}

impl Check {
    /// What is to change.
    #[must_use]
    pub fn diff(&self, facts: &CheckFacts) -> Diff {
        let found = facts.output.trim();
        let right = match &self.wanted {
            Answer::Is(text) => found == text.trim(),
            Answer::Contains(text) => found.contains(text.as_str()),
        };
        if right {
            return Diff::right(format!("`{}` says {}", self.ask, self.wanted));
        }
        let found = format!("`{}`", shortened(found));
        Diff::Changes(vec![Change::field("answer", found, &self.wanted)])
    }
}

/// An output can be long, and may say more than a plan should show.
fn shortened(output: &str) -> String {
    const SHOWN: usize = 80;
    let line = output.lines().next().unwrap_or_default();
    let shown: String = line.chars().take(SHOWN).collect();
    if shown.len() < output.len() {
        format!("{shown}…")
    } else {
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_decides() {
        let command = |program: &str| Command {
            program: program.to_owned(),
            arguments: vec!["x".to_owned()],
        };
        let check = |wanted| Check {
            name: "x".to_owned(),
            ask: command("ask"),
            wanted,
            act: command("act"),
            undo: None,
            folder: "/".parse().unwrap(),
            timeout_seconds: 1,
        };
        let facts = |output: &str| CheckFacts {
            output: output.to_owned(),
        };
        let exact = check(Answer::Is("on".to_owned()));
        assert_eq!(exact.diff(&facts("on\n")), Diff::right("`ask x` says `on`"));
        let Diff::Changes(changes) = exact.diff(&facts("off\nand more\n")) else {
            panic!("another answer was taken for the right one");
        };
        assert_eq!(changes[0].to_string(), "answer: `off…` → `on`");
        let part = check(Answer::Contains("on".to_owned()));
        assert!(part.diff(&facts("it is on now")).is_right());
        assert!(!part.diff(&facts("")).is_right());
    }
}
