//! The verbs that stand on Linux' namespaces, on a machine that has none: they are
//! known, and say where they can be had.

use casement_diag::Problem;
use clap::Args;

use crate::failure::CommandError;

/// Whatever is said behind the verb.
#[derive(Debug, Args)]
pub struct ElsewhereArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    words: Vec<String>,
}

/// The verb cannot be had here.
pub fn refuse(verb: &str) -> CommandError {
    CommandError::usage(
        Problem::new(
            "CAS-LAB-058",
            format!("`casement {verb}` needs Linux"),
            format!(
                "run `casement {verb}` on a Linux machine, or in WSL; all other verbs work here"
            ),
        )
        .seen("this is", std::env::consts::OS),
    )
}
