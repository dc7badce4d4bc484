//! Reads a secret from where the cluster file says that it is: a file, a variable
//! of the environment, or a person. Never from arguments.

use std::io::IsTerminal as _;

use casement_diag::Problem;
use casement_resource::Secret;
use casement_spec::SecretRef;

use crate::log_file;

/// The value. `field` is where the file names it; `question` is what a person is
/// asked.
pub fn read(secret: &SecretRef, field: &str, question: &str) -> Result<Secret, Problem> {
    let value = match secret {
        SecretRef::File(path) => std::fs::read_to_string(path).map_err(|error| {
            Problem::new(
                "CAS-FILE-004",
                format!("`{path}` cannot be read"),
                "mend the path in the cluster file; it begins in the file's own folder",
            )
            .seen("set in", field)
            .seen("it says", error)
        })?,
        SecretRef::Env(name) => std::env::var(name).map_err(|_| {
            Problem::new(
                "CAS-CTL-011",
                format!("the variable `{name}` is not set"),
                format!("set `{name}`, or name a file: {field}: {{file: PATH}}"),
            )
            .seen("set in", field)
        })?,
        SecretRef::Prompt => ask(field, question)?,
    };
    // A file ends with an end of line that is no part of the secret.
    let value = Secret::new(value);
    let trimmed = value.expose().trim_end_matches(['\r', '\n']);
    if trimmed.is_empty() {
        return Err(Problem::new(
            "CAS-CTL-012",
            "the secret is empty",
            format!("write it where `{field}` says that it is"),
        )
        .seen("set in", field));
    }
    let value = Secret::new(trimmed.to_owned());
    log_file::hide(&value);
    Ok(value)
}

/// Asks on the terminal, which does not show what is typed.
fn ask(field: &str, question: &str) -> Result<String, Problem> {
    let no_terminal = || {
        Problem::new(
            "CAS-CTL-013",
            "nobody can be asked for a secret: there is no terminal",
            format!("name a file: {field}: {{file: PATH}}"),
        )
        .seen("asked for", question.trim_end_matches([' ', ':']))
    };
    if !std::io::stdin().is_terminal() {
        return Err(no_terminal());
    }
    rpassword::prompt_password(question).map_err(|error| no_terminal().seen("it says", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_s_last_line_end_is_no_part_of_the_secret() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        let secret = SecretRef::File(path.clone().try_into().unwrap());
        std::fs::write(&path, " hunter2 \r\n").unwrap();
        let value = read(&secret, "access.winrm.password", "").unwrap();
        assert_eq!(value.expose(), " hunter2 ");
        std::fs::write(&path, "\n").unwrap();
        assert!(read(&secret, "access.winrm.password", "").is_err());
    }

    #[test]
    fn a_secret_that_is_not_there_is_named_by_its_field() {
        let file = SecretRef::File("/nowhere/password".into());
        let env = SecretRef::Env("CASEMENT_TEST_NO_SUCH_VARIABLE".to_owned());
        for secret in [file, env] {
            let problem = read(&secret, "access.winrm.password", "").unwrap_err();
            let shown = problem.to_string();
            assert!(shown.contains("access.winrm.password"), "{shown}");
        }
    }
}
