//! The question before something changes.

use std::io::{IsTerminal, Write};

use casement_diag::Problem;

use crate::failure::CommandError;
use crate::{log_file, output};

/// Asks; without anybody there to answer, that is an error that names the
/// command which does not ask.
pub fn ask(question: &str, without_asking: &str) -> Result<(), CommandError> {
    if !std::io::stdin().is_terminal() {
        return Err(CommandError::usage(Problem::new(
            "CAS-CTL-002",
            "nobody is there to be asked",
            without_asking,
        )));
    }
    eprint!("{question} [y/N] ");
    let _ = std::io::stderr().flush();
    let mut answer = String::new();
    let heard = std::io::stdin().read_line(&mut answer);
    log_file::write(&format!("{question} [y/N] {}", answer.trim()));
    match heard.is_ok() && answer.trim().eq_ignore_ascii_case("y") {
        true => Ok(()),
        false => {
            output::say("Nothing was changed.");
            Err(CommandError::told(1))
        }
    }
}
