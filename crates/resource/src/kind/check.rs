//! `check`: a command whose output decides whether another one runs.
//!
//! The last resort, if no other kind fits: casement does not know what the commands do.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Change, Diff, HostPath};

/// A program with its arguments; run without a shell, and never contains a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Command {
    /// The program: a path, or a name on the search path.
    pub program: String,
    #[serde(default)]
    pub arguments: Vec<String>,
}

impl Command {
    /// The program and its arguments, in one list.
    #[must_use]
    pub fn argv(&self) -> Vec<String> {
        let program = std::iter::once(&self.program);
        program.chain(&self.arguments).cloned().collect()
    }
}

impl fmt::Display for Command {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.argv().join(" "))
    }
}

/// The expected output; surrounding whitespace is ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Answer {
    /// The output equals this.
    Is(String),
    /// The output contains this.
    Contains(String),
}

impl fmt::Display for Answer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Is(text) => write!(formatter, "`{text}`"),
            Self::Contains(text) => write!(formatter, "text containing `{text}`"),
        }
    }
}

/// A command, and the action to run until its output is as expected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Check {
    /// The display name.
    pub name: String,
    /// The command to run; it changes nothing.
    pub ask: Command,
    /// The expected output.
    pub wanted: Answer,
    /// Run once if the output differs.
    pub act: Command,
    /// Takes that back; run only while the answer is right.
    pub undo: Option<Command>,
    /// The working directory of all commands.
    pub folder: HostPath,
    pub timeout_seconds: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckFacts {
    /// stdout and stderr.
    pub output: String,
}

impl Check {
    #[must_use]
    pub fn diff(&self, facts: &CheckFacts) -> Diff {
        let found = facts.output.trim();
        let in_sync = match &self.wanted {
            Answer::Is(text) => found == text.trim(),
            Answer::Contains(text) => found.contains(text.as_str()),
        };
        if in_sync {
            return Diff::unchanged(format!("`{}` prints {}", self.ask, self.wanted));
        }
        let found = format!("`{}`", shortened(found));
        Diff::Changes(vec![Change::field("output", found, &self.wanted)])
    }
}

/// Output can be long, and may contain more than a plan should show.
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
    fn the_output_decides_whether_it_is_in_sync() {
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
        assert_eq!(
            exact.diff(&facts("on\n")),
            Diff::unchanged("`ask x` prints `on`")
        );
        let Diff::Changes(changes) = exact.diff(&facts("off\nand more\n")) else {
            panic!("unexpected output was accepted");
        };
        assert_eq!(changes[0].to_string(), "output: `off…` → `on`");
        let part = check(Answer::Contains("on".to_owned()));
        assert!(part.diff(&facts("it is on now")).in_sync());
        assert!(!part.diff(&facts("")).in_sync());
    }
}
