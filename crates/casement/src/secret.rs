//! Reads secrets from a file, an environment variable or a prompt, as set in the cluster
//! file. Never from arguments.

use std::io::IsTerminal as _;

use casement_diag::Problem;
use casement_resource::Secret;
use casement_spec::SecretRef;

use crate::log_file;

/// `field` is the field of the cluster file, for errors.
pub fn read(secret: &SecretRef, field: &str, prompt: &str) -> Result<Secret, Problem> {
    let value = match secret {
        SecretRef::File(path) => std::fs::read_to_string(path).map_err(|error| {
            Problem::new(
                "CAS-FILE-004",
                format!("failed to read `{path}`"),
                "fix the path in the cluster file; it is relative to the directory of the file",
            )
            .detail("set in", field)
            .detail("cause", error)
        })?,
        SecretRef::Env(name) => std::env::var(name).map_err(|_| {
            Problem::new(
                "CAS-CTL-011",
                format!("the environment variable `{name}` is not set"),
                format!("set `{name}`, or use a file: `{field}: {{file: PATH}}`"),
            )
            .detail("set in", field)
        })?,
        SecretRef::Prompt => ask(field, prompt)?,
    };
    // The trailing newline of a file is not part of the secret.
    let value = Secret::new(value);
    let trimmed = value.expose().trim_end_matches(['\r', '\n']);
    if trimmed.is_empty() {
        return Err(empty(secret, field));
    }
    let value = Secret::new(trimmed.to_owned());
    log_file::hide(&value);
    Ok(value)
}

fn empty(secret: &SecretRef, field: &str) -> Problem {
    let help = match secret {
        SecretRef::File(path) => format!("write the secret to `{path}`"),
        SecretRef::Env(name) => format!("set `{name}` to the secret"),
        SecretRef::Prompt => "run the command again, and enter the secret at the prompt".to_owned(),
    };
    Problem::new("CAS-CTL-012", "the secret is empty", help).detail("set in", field)
}

/// Prompts without echo.
fn ask(field: &str, prompt: &str) -> Result<String, Problem> {
    let no_terminal = || {
        Problem::new(
            "CAS-CTL-013",
            "a secret is required, but standard input is not a terminal",
            format!("use a file: `{field}: {{file: PATH}}`"),
        )
        .detail("secret", prompt.trim_end_matches([' ', ':']))
    };
    if !std::io::stdin().is_terminal() {
        return Err(no_terminal());
    }
    rpassword::prompt_password(prompt).map_err(|error| no_terminal().detail("cause", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailing_newline_is_not_part_of_the_secret() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("password");
        let secret = SecretRef::File(path.clone().try_into().unwrap());
        std::fs::write(&path, " hunter2 \r\n").unwrap();
        let value = read(&secret, "access.winrm.password", "").unwrap();
        assert_eq!(value.expose(), " hunter2 ");
        std::fs::write(&path, "\n").unwrap();
        assert!(read(&secret, "access.winrm.password", "").is_err());
    }

    #[test]
    fn help_for_an_empty_secret_names_its_source() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("password");
        std::fs::write(&path, "\n").unwrap();
        let file = SecretRef::File(path.clone().try_into().unwrap());
        let problem = read(&file, "access.winrm.password", "").unwrap_err();
        assert_eq!(problem.code, "CAS-CTL-012");
        assert!(problem.help.contains(path.to_str().unwrap()), "{problem}");
        let variable = empty(&SecretRef::Env("SHOP_PASSWORD".to_owned()), "field");
        assert!(variable.help.contains("`SHOP_PASSWORD`"), "{variable}");
        let prompt = empty(&SecretRef::Prompt, "field");
        assert!(prompt.help.contains("at the prompt"), "{prompt}");
    }

    #[test]
    fn errors_name_the_field_of_a_missing_secret() {
        let file = SecretRef::File("/missing/password".into());
        let env = SecretRef::Env("CASEMENT_TEST_NO_SUCH_VARIABLE".to_owned());
        for secret in [file, env] {
            let problem = read(&secret, "access.winrm.password", "").unwrap_err();
            let text = problem.to_string();
            assert!(text.contains("access.winrm.password"), "{text}");
        }
    }
}
