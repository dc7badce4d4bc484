//! Arguments that kubeadm leaves for the kubelet in `kubeadm-flags.env`.
//!
//! The file is made for systemd: one variable whose value is written as a Go
//! string literal, its words separated by blanks, words with blanks in quotes.

use std::iter::Peekable;
use std::str::Chars;

const VARIABLE: &str = "KUBELET_KUBEADM_ARGS=";

/// Why the file makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FlagsError {
    /// There is no such line.
    #[error("there is no line `{VARIABLE}…`")]
    NoVariable,
    /// A quotation mark without its partner.
    #[error("a quotation mark is not closed")]
    Open,
    /// A backslash with something after it that has no meaning.
    #[error("`\\{0}` has no meaning")]
    Escape(String),
}

/// The arguments in the file's text.
pub fn arguments(text: &str) -> Result<Vec<String>, FlagsError> {
    let value = text
        .lines()
        .find_map(|line| line.trim().strip_prefix(VARIABLE))
        .ok_or(FlagsError::NoVariable)?
        .trim();
    match value.strip_prefix('"') {
        Some(literal) => words(&unquote(literal)?),
        None => words(value),
    }
}

/// Reads a Go string literal after its first quotation mark.
fn unquote(literal: &str) -> Result<String, FlagsError> {
    let mut value = String::new();
    let mut characters = literal.chars().peekable();
    loop {
        match characters.next().ok_or(FlagsError::Open)? {
            '"' => return Ok(value),
            '\\' => value.push(escaped(&mut characters)?),
            character => value.push(character),
        }
    }
}

fn escaped(characters: &mut Peekable<Chars<'_>>) -> Result<char, FlagsError> {
    let letter = characters.next().ok_or(FlagsError::Open)?;
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

/// Splits at blanks that are not in quotes. A backslash outside of double
/// quotes is itself: Windows paths have it.
fn words(text: &str) -> Result<Vec<String>, FlagsError> {
    let mut found = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in text.chars() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, blank) if blank.is_whitespace() => found.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    if quote.is_some() {
        return Err(FlagsError::Open);
    }
    found.extend(word);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kubeadm_writes_is_read() {
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
    fn escapes_and_inner_quotes_are_undone() {
        let text =
            r#"KUBELET_KUBEADM_ARGS="--root-dir=C:\\var --node-labels=\"a=b c\" --x='' \u00e9""#;
        assert_eq!(
            arguments(text).unwrap(),
            [r"--root-dir=C:\var", "--node-labels=a=b c", "--x=", "é"]
        );
    }

    #[test]
    fn a_value_without_quotes_and_an_empty_one_are_fine() {
        assert_eq!(
            arguments("# x\nKUBELET_KUBEADM_ARGS=--v=2  --a\n").unwrap(),
            ["--v=2", "--a"]
        );
        assert!(arguments("KUBELET_KUBEADM_ARGS=\"\"").unwrap().is_empty());
    }

    #[test]
    fn damage_is_an_error() {
        assert_eq!(arguments("X=1"), Err(FlagsError::NoVariable));
        assert_eq!(
            arguments("KUBELET_KUBEADM_ARGS=\"--a"),
            Err(FlagsError::Open)
        );
        assert_eq!(
            arguments(r#"KUBELET_KUBEADM_ARGS="\q""#),
            Err(FlagsError::Escape("q".to_owned()))
        );
    }
}
