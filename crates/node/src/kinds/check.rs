//! `check`.

use std::collections::BTreeMap;
use std::time::Duration;

use casement_resource::{Check, CheckFacts, Code, Command, Diff, Failure, Prior, Resource};

use super::{Kind, KindContext};
use crate::platform::{Program, Result};

impl Kind for Check {
    /// The exit code is ignored: many programs report their result with it.
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        let (_, output) = run(self, &self.ask, context)?;
        Ok(self.diff(&CheckFacts { output }))
    }

    fn prior(&self, _context: &KindContext<'_>) -> Result<Prior> {
        Ok(Prior::Nothing)
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        _prior: &Prior,
        _previous: Option<&Resource>,
    ) -> Result<()> {
        run_checked(self, &self.act, context)
    }

    /// Idempotent: while the check does not match there is nothing to undo.
    fn undo(&self, context: &KindContext<'_>, _prior: &Prior) -> Result<()> {
        match &self.undo {
            Some(undo) if self.observe(context)?.in_sync() => run_checked(self, undo, context),
            _ => Ok(()),
        }
    }
}

fn run_checked(check: &Check, command: &Command, context: &KindContext<'_>) -> Result<()> {
    match run(check, command, context)? {
        (0, _) => Ok(()),
        (code, output) => Err(Failure::new(
            Code::ProgramFailed,
            format!("`{command}` failed with exit code {code}"),
            "run it on the host to see the error, then fix the document",
        )
        .found(last_line(&output))),
    }
}

fn run(check: &Check, command: &Command, context: &KindContext<'_>) -> Result<(i32, String)> {
    let deadline = Duration::from_secs(u64::from(check.timeout_seconds));
    let exit = context.platform.run(&Program {
        arguments: command.argv(),
        // The output must not depend on the language of the host.
        environment: BTreeMap::from([("LC_ALL".to_owned(), "C".to_owned())]),
        working_dir: check.folder.clone(),
        timeout: deadline,
    })?;
    match exit.code {
        Some(code) => Ok((code, exit.output)),
        None => Err(Failure::new(
            Code::TimedOut,
            format!("`{command}` timed out and was killed"),
            "run it on the host to see what it waits for",
        )
        .values(
            format!("exit within {} s", deadline.as_secs()),
            last_line(&exit.output),
        )),
    }
}

fn last_line(output: &str) -> String {
    let line = output.lines().rev().find(|line| !line.trim().is_empty());
    line.unwrap_or("no output").chars().take(200).collect()
}
