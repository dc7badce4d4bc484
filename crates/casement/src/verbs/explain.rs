//! `casement explain CODE`.

use casement_diag::Problem;
use clap::Args;

use crate::failure::CommandError;

/// Explain an error code.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Code in the brackets of an error message, such as CAS-NET-003
    code: String,
}

pub fn run_explain(arguments: &ExplainArgs) -> Result<(), CommandError> {
    let code = &arguments.code;
    if let Some(page) = casement_verify::explain(code) {
        return crate::output::print(page);
    }
    match casement_lint::explain(code) {
        Ok(page) => {
            crate::verbs::lint::print_data(page.text);
            Ok(())
        }
        Err(close) => {
            let remedy = match close {
                Some(close) => format!("did you mean {close}?"),
                None => "use a code from an error message, such as CAS-NET-003".to_owned(),
            };
            let message = format!("no explanation for `{code}`");
            Err(CommandError::usage(Problem::new(
                "CAS-FILE-020",
                message,
                remedy,
            )))
        }
    }
}
