//! `casement explain CODE`.

use casement_diag::{Problem, codes};
use clap::Args;

use crate::failure::CommandError;
use crate::output;

/// Explain an error code.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Code in the brackets of an error message, such as CAS-NET-003
    code: String,
}

pub fn run_explain(arguments: &ExplainArgs) -> Result<(), CommandError> {
    let code = &arguments.code;
    if let Some(entry) = codes::entry(code) {
        return output::print(entry.page);
    }
    let help = match codes::closest(code) {
        Some(close) => format!("did you mean {close}?"),
        None => "use a code from an error message, such as CAS-NET-003".to_owned(),
    };
    Err(CommandError::usage(Problem::new(
        "CAS-FILE-020",
        format!("no explanation for `{code}`"),
        help,
    )))
}
