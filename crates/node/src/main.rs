//! `casement-node`: see the library of the same name.

use std::process::ExitCode;

fn main() -> ExitCode {
    casement_node::command::run(std::env::args_os().skip(1))
}
