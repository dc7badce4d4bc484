//! Verbs that need Linux namespaces, on other systems.

use casement_diag::Problem;
use clap::Args;

use crate::failure::CommandError;

#[derive(Debug, Args)]
pub struct LinuxOnlyArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    arguments: Vec<String>,
}

pub fn unsupported(verb: &str) -> CommandError {
    CommandError::usage(
        Problem::new(
            "CAS-LAB-058",
            format!("`casement {verb}` needs Linux"),
            format!("run `casement {verb}` on Linux or in WSL; only `demo` and `lab` need Linux"),
        )
        .detail("system", std::env::consts::OS),
    )
}
