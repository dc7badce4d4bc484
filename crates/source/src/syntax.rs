//! Diagnostics for text that cannot be parsed.

use std::ops::Range;

use casement_diag::{Diagnostic, FieldPath, Part};
use granit_parser::{ErrorKind, ScanError};

use crate::codes;

const CHECK_FILE: &str = "check that it is the right file; set another one with `-f`";

fn at(range: Range<usize>, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(FieldPath::root(), message).at(Part::Bytes(range))
}

/// A parser error, with help.
pub(crate) fn invalid_yaml(text: &str, error: &ScanError) -> Diagnostic {
    let start = error.marker().byte_offset().unwrap_or(0).min(text.len());
    let length = text.get(start..).and_then(|rest| rest.chars().next());
    let length = length.filter(|c| *c != '\n').map_or(0, char::len_utf8);
    let (message, help) = explain(error.kind());
    let message = match message {
        Some(message) => message.to_owned(),
        None => format!("invalid YAML: {}", error.kind()),
    };
    at(start..start + length, message)
        .code(codes::SYNTAX)
        .help(help)
}

/// A message where we can do better than the parser, and help.
fn explain(kind: &ErrorKind) -> (Option<&'static str>, &'static str) {
    use ErrorKind as E;
    match kind {
        E::TabNotAllowed
        | E::TabInBlockIndentation
        | E::TabAtBlockScalarStart
        | E::TabInIndentation
        | E::TabInPlainScalar => (
            Some("found a tab where YAML allows only spaces"),
            "indent with spaces",
        ),
        E::UnknownQuotedScalarEscape | E::InvalidQuotedScalarHexEscape => (
            Some("invalid escape sequence in a double-quoted string"),
            "write Windows paths without quotes or in single quotes: 'C:\\k'",
        ),
        E::UnclosedQuotedScalar | E::DocumentIndicatorInQuotedScalar => {
            let help = "add the closing quote on the same line";
            (Some("a quoted string is not closed"), help)
        }
        E::UnclosedFlowCollection { open: '[' }
        | E::UnexpectedEofFlowSequence
        | E::ExpectedFlowSequenceSeparator => (
            Some("missing `,` or `]` in a list"),
            "write lists as `[a, b]`",
        ),
        E::UnclosedFlowCollection { .. }
        | E::UnexpectedEofFlowMapping
        | E::UnexpectedEofImplicitFlowMapping
        | E::ExpectedFlowMappingSeparator => (
            Some("missing `,` or `}` in a mapping"),
            "write mappings as `{name: win1, os: windows-2022}`",
        ),
        E::MismatchedFlowCollectionEnd { .. } | E::MisplacedFlowCollectionEnd => (
            Some("the brackets do not match"),
            "write lists as `[a, b]`, mappings as `{name: win1, os: windows-2022}`",
        ),
        E::SimpleKeyExpected | E::InvalidSimpleKey => (
            Some("missing `:` after a field name"),
            "write fields as `name: value`",
        ),
        E::InvalidIndentation
        | E::ExpectedBlockMappingKey
        | E::ExpectedBlockSequenceEntry
        | E::BlockSequenceEntryNotAllowed
        | E::MappingKeyNotAllowed
        | E::MappingValueNotAllowed
        | E::ExpectedDocumentStart => (
            Some("the indentation does not match the lines above"),
            "start all fields of a mapping and all items of a list in the same column; \
             quote strings that contain `: `",
        ),
        E::RecursionLimitExceeded => (Some("the document is nested too deeply"), CHECK_FILE),
        _ => (
            None,
            "quote strings that contain characters such as `: { } [ ] * & # |`",
        ),
    }
}

pub(crate) fn too_large(max: usize) -> Diagnostic {
    let message = format!("the file is larger than {} KiB", max / 1024);
    Diagnostic::error(FieldPath::root(), message)
        .code(codes::TOO_LARGE)
        .help(CHECK_FILE)
}

pub(crate) fn too_many(range: Range<usize>, max: usize) -> Diagnostic {
    at(range, format!("the document has more than {max} values"))
        .code(codes::TOO_LARGE)
        .help(CHECK_FILE)
}

pub(crate) fn too_deep(range: Range<usize>, max: usize) -> Diagnostic {
    at(
        range,
        format!("the document is nested more than {max} levels deep"),
    )
    .code(codes::TOO_LARGE)
    .help(CHECK_FILE)
}

pub(crate) fn not_utf8(bytes: &[u8], valid: usize) -> Diagnostic {
    let utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    let message = if utf16 {
        "the file is UTF-16, but only UTF-8 is supported".to_owned()
    } else {
        let before = bytes.get(..valid).unwrap_or_default();
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("the file is not valid UTF-8 (byte {valid}, line {line})")
    };
    Diagnostic::error(FieldPath::root(), message)
        .code(codes::ENCODING)
        .help("save it as UTF-8")
}

pub(crate) fn no_document() -> Diagnostic {
    Diagnostic::error(FieldPath::root(), "the file is empty")
        .code(codes::DOCUMENTS)
        .help("start it with `apiVersion: casement.dev/v1alpha1`")
}

pub(crate) fn several_documents(range: Range<usize>) -> Diagnostic {
    at(range, "the file contains a second document")
        .code(codes::DOCUMENTS)
        .help("put each cluster into a separate file")
}

pub(crate) fn alias(range: Range<usize>) -> Diagnostic {
    at(range, "aliases (`*name`) are not supported")
        .code(codes::YAML_FEATURE)
        .help("repeat the value; quote strings that start with `*`")
}

pub(crate) fn tag(range: Range<usize>) -> Diagnostic {
    at(range, "tags (`!name`) are not supported")
        .code(codes::YAML_FEATURE)
        .help("remove the tag; quote strings that start with `!`")
}

pub(crate) fn non_scalar_key(range: Range<usize>) -> Diagnostic {
    at(range, "a field name must be a string")
        .code(codes::YAML_FEATURE)
        .help("quote values that start with `{` but are not mappings")
}
