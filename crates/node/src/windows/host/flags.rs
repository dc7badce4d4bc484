//! The kubelet arguments that kubeadm writes to `kubeadm-flags.env`.
//!
//! The file is meant for systemd: one variable whose value is a Go string literal,
//! with arguments separated by blanks and arguments containing blanks in quotes.

use std::iter::Peekable;
use std::str::Chars;

const VARIABLE: &str = "KUBELET_KUBEADM_ARGS=";

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FlagsError {
    #[error("no line starts with `{VARIABLE}`")]
    NoVariable,
    #[error("unterminated quotation mark")]
    UnterminatedQuote,
    #[error("invalid escape sequence `\\{0}`")]
    Escape(String),
}

pub fn arguments(text: &str) -> Result<Vec<String>, FlagsError> {
    let value = text
        .lines()
        .find_map(|line| line.trim().strip_prefix(VARIABLE))
        .ok_or(FlagsError::NoVariable)?
        .trim();
    match value.strip_prefix('"') {
        Some(literal) => split(&unquote(literal)?),
        None => split(value),
    }
}

/// `literal` starts after the opening quotation mark.
fn unquote(literal: &str) -> Result<String, FlagsError> {
    let mut value = String::new();
    let mut characters = literal.chars().peekable();
    loop {
        match characters.next().ok_or(FlagsError::UnterminatedQuote)? {
            '"' => return Ok(value),
            '\\' => value.push(escaped(&mut characters)?),
            character => value.push(character),
        }
    }
}

fn escaped(characters: &mut Peekable<Chars<'_>>) -> Result<char, FlagsError> {
    let letter = characters.next().ok_or(FlagsError::UnterminatedQuote)?;
    let digits = match letter {
        '"' | '\\' | '\'' => return Ok(letter),
        'n' => return Ok('\n'),
        't' => return Ok('\t'),
        'r' => return Ok('\r'),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        other => return Err(FlagsError::Escape(other.to_string())),
    };
    let number: String = characters.take(digits).collect();
    u32::from_str_radix(&number, 16)
        .ok()
        .filter(|_| number.len() == digits)
        .and_then(char::from_u32)
        .ok_or_else(|| FlagsError::Escape(format!("{letter}{number}")))
}

/// Splits at blanks outside of quotes. A backslash is literal: Windows paths contain
/// it.
fn split(text: &str) -> Result<Vec<String>, FlagsError> {
    let mut found = Vec::new();
    let mut argument: Option<String> = None;
    let mut quote = None;
    for character in text.chars() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(character);
                argument.get_or_insert_default();
            }
            (None, blank) if blank.is_whitespace() => found.extend(argument.take()),
            _ => argument.get_or_insert_default().push(character),
        }
    }
    if quote.is_some() {
        return Err(FlagsError::UnterminatedQuote);
    }
    found.extend(argument);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubeadm_output_is_parsed() {
        let text = "KUBELET_KUBEADM_ARGS=\"--container-runtime-endpoint=npipe:////./pipe/containerd-containerd --node-ip=10.3.0.4\"\n";
        assert_eq!(
            arguments(text).unwrap(),
            [
                "--container-runtime-endpoint=npipe:////./pipe/containerd-containerd",
                "--node-ip=10.3.0.4"
            ]
        );
    }

    #[test]
    fn escapes_and_inner_quotes_are_resolved() {
        let text =
            r#"KUBELET_KUBEADM_ARGS="--root-dir=C:\\var --node-labels=\"a=b c\" --x='' \u00e9""#;
        assert_eq!(
            arguments(text).unwrap(),
            [r"--root-dir=C:\var", "--node-labels=a=b c", "--x=", "é"]
        );
    }

    #[test]
    fn unquoted_and_empty_values_are_accepted() {
        assert_eq!(
            arguments("# x\nKUBELET_KUBEADM_ARGS=--v=2  --a\n").unwrap(),
            ["--v=2", "--a"]
        );
        assert!(arguments("KUBELET_KUBEADM_ARGS=\"\"").unwrap().is_empty());
    }

    #[test]
    fn invalid_file_is_an_error() {
        assert_eq!(arguments("X=1"), Err(FlagsError::NoVariable));
        assert_eq!(
            arguments("KUBELET_KUBEADM_ARGS=\"--a"),
            Err(FlagsError::UnterminatedQuote)
        );
        assert_eq!(
            arguments(r#"KUBELET_KUBEADM_ARGS="\q""#),
            Err(FlagsError::Escape("q".to_owned()))
        );
    }
}
