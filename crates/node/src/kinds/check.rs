//! `check`.

use std::collections::BTreeMap;
use std::time::Duration;

use casement_resource::{Check, CheckFacts, Code, Command, Diff, Failure, Prior, Resource};

use super::{Kind, Place};
use crate::platform::{Program, Result};

impl Kind for Check {
    /// How the question ends does not count: many say what they found by their
    /// exit code too.
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        let (_, output) = run(self, &self.ask, at)?;
        Ok(self.diff(&CheckFacts { output }))
    }

    fn prior(&self, _at: &Place<'_>) -> Result<Prior> {
        Ok(Prior::Nothing)
    }

    fn change(&self, at: &Place<'_>, _prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        succeed(self, &self.act, at)
    }

    /// While the answer is another one there is nothing to take back; so doing
    /// it twice is fine.
    fn undo(&self, at: &Place<'_>, _prior: &Prior) -> Result<()> {
        match &self.undo {
            Some(undo) if self.look(at)?.is_right() => succeed(self, undo, at),
            _ => Ok(()),
        }
    }
}

fn succeed(check: &Check, command: &Command, at: &Place<'_>) -> Result<()> {
    match run(check, command, at)? {
        (0, _) => Ok(()),
        (code, output) => Err(Failure::new(
            Code::ProgramFailed,
            format!("`{command}` ended with code {code}"),
            "run it by hand on the host, and correct the document",
        )
        .found(last_line(&output))),
    }
}

fn run(check: &Check, command: &Command, at: &Place<'_>) -> Result<(i32, String)> {
    let deadline = Duration::from_secs(u64::from(check.timeout_seconds));
    let ended = at.platform.run(&Program {
        arguments: command.words(),
        // No answer may depend on the language of the host.
        environment: BTreeMap::from([("LC_ALL".to_owned(), "C".to_owned())]),
        folder: check.folder.clone(),
        deadline,
    })?;
    match ended.code {
        Some(code) => Ok((code, ended.output)),
        None => Err(Failure::new(
            Code::TimedOut,
            format!("`{command}` was ended by force"),
            "run it by hand on the host to see what it waits for",
        )
        .values(
            format!("an end within {} s", deadline.as_secs()),
            last_line(&ended.output),
        )),
    }
}

fn last_line(output: &str) -> String {
    let line = output.lines().rev().find(|line| !line.trim().is_empty());
    line.unwrap_or("no output").chars().take(200).collect()
}
