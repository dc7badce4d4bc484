//! `casement explain CODE`.

use casement_diag::Problem;
use clap::Args;

use crate::failure::CommandError;

/// Say what a code means and what to do about it.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The code in the brackets of a message, such as CAS-NET-003
    code: String,
}

/// Runs the verb.
pub fn run_explain(arguments: &ExplainArgs) -> Result<(), CommandError> {
    let code = &arguments.code;
    if let Some(page) = casement_verify::explain(code) {
        return crate::output::print(page);
    }
    match casement_lint::explain(code) {
        Ok(page) => {
            crate::lint::print_data(page.text);
            Ok(())
        }
        Err(close) => {
            let remedy = match close {
                Some(close) => format!("did you mean {close}?"),
                None => "codes stand in the brackets of a message, such as CAS-NET-003".to_owned(),
            };
            let message = format!("there is no page for `{code}`");
            Err(CommandError::usage(Problem::new(
                "CAS-FILE-020",
                message,
                remedy,
            )))
        }
    }
}
