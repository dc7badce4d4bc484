//! The confirmation prompt.

use std::io::{IsTerminal, Write};

use casement_diag::Problem;

use crate::failure::CommandError;
use crate::{log_file, output};

/// Prompts for confirmation. Without a terminal this fails, with the command that skips
/// the prompt as the remedy.
pub fn ask(question: &str, without_prompt: &str) -> Result<(), CommandError> {
    if !std::io::stdin().is_terminal() {
        return Err(CommandError::usage(Problem::new(
            "CAS-CTL-002",
            "confirmation is required, but standard input is not a terminal",
            format!("run `{without_prompt}`"),
        )));
    }
    eprint!("{question} [y/N] ");
    let _ = std::io::stderr().flush();
    let mut answer = String::new();
    let read = std::io::stdin().read_line(&mut answer);
    log_file::write(&format!("{question} [y/N] {}", answer.trim()));
    match read.is_ok() && answer.trim().eq_ignore_ascii_case("y") {
        true => Ok(()),
        false => {
            output::message("Canceled. No changes were made.");
            Err(CommandError::reported(1))
        }
    }
}
