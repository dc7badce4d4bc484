//! The confirmation prompt.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};

use casement_diag::Problem;

use crate::failure::CommandError;
use crate::verbs::access::quoted;
use crate::{log_file, mask, output};

/// Prompts for confirmation. Without a terminal this fails, with the command that skips
/// the prompt as the remedy.
pub fn ask(question: &str) -> Result<(), CommandError> {
    if !std::io::stdin().is_terminal() {
        return Err(CommandError::usage(Problem::new(
            "CAS-CTL-002",
            "confirmation is required, but standard input is not a terminal",
            format!("run `{}`", without_prompt(std::env::args_os())),
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

/// The command line of this process with `--yes`. The option follows the verb: after `--`
/// it would be the name of a host.
fn without_prompt(arguments: impl Iterator<Item = OsString>) -> String {
    let arguments = arguments.skip(1);
    let arguments = arguments.map(|it| it.to_string_lossy().into_owned());
    let mut command: Vec<String> = std::iter::once("casement".to_owned())
        .chain(arguments)
        .collect();
    command.insert(command.len().min(2), "--yes".to_owned());
    // URLs of mirrors and proxies may contain passwords.
    mask::own(&quoted(&command), &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suggested(line: &str) -> String {
        without_prompt(line.split(' ').map(OsString::from))
    }

    #[test]
    fn suggested_command_is_the_given_one_with_yes() {
        for (given, suggested_command) in [
            ("/usr/bin/casement apply", "casement apply --yes"),
            (
                "./casement join 10.3.0.4 --kubeconfig admin.conf",
                "casement join --yes 10.3.0.4 --kubeconfig admin.conf",
            ),
            (
                "casement reset -f shop.yaml -- win1",
                "casement reset --yes -f shop.yaml -- win1",
            ),
        ] {
            assert_eq!(suggested(given), suggested_command);
        }
        let spaces = ["casement", "apply", "-f", "my cluster.yaml"];
        assert_eq!(
            without_prompt(spaces.into_iter().map(OsString::from)),
            "casement apply --yes -f 'my cluster.yaml'"
        );
    }

    #[test]
    fn suggested_command_has_no_password() {
        let line = suggested("casement apply --mirror https://user:hunter2@mirror.example");
        assert!(!line.contains("hunter2"), "{line}");
    }
}
