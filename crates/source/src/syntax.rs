//! What is said when a text has no tree.

use std::ops::Range;

use casement_diag::{Diagnostic, FieldPath, Part};
use granit_parser::{ErrorKind, ScanError};

use crate::codes;

const RIGHT_FILE: &str = "is it the right file? `-f` names it";

fn at(range: Range<usize>, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(FieldPath::root(), message).at(Part::Bytes(range))
}

/// The parser's complaint in words about what to do.
pub(crate) fn no_yaml(text: &str, error: &ScanError) -> Diagnostic {
    let start = error.marker().byte_offset().unwrap_or(0).min(text.len());
    let length = text.get(start..).and_then(|rest| rest.chars().next());
    let length = length.filter(|c| *c != '\n').map_or(0, char::len_utf8);
    let (message, help) = words(error.kind());
    let message = match message {
        Some(message) => message.to_owned(),
        None => format!("this is no YAML: {}", error.kind()),
    };
    at(start..start + length, message)
        .code(codes::SYNTAX)
        .help(help)
}

/// What is wrong, where it is known better than the parser says, and a remedy.
fn words(kind: &ErrorKind) -> (Option<&'static str>, &'static str) {
    use ErrorKind as E;
    match kind {
        E::TabNotAllowed
        | E::TabInBlockIndentation
        | E::TabAtBlockScalarStart
        | E::TabInIndentation
        | E::TabInPlainScalar => (
            Some("a tab stands where YAML allows only spaces"),
            "indent with spaces",
        ),
        E::UnknownQuotedScalarEscape | E::InvalidQuotedScalarHexEscape => (
            Some("in double quotes `\\` begins an escape, and this is none"),
            "write Windows paths without quotes, or in single ones: 'C:\\k'",
        ),
        E::UnclosedQuotedScalar | E::DocumentIndicatorInQuotedScalar => {
            let help = "close it on the same line";
            (Some("a quote is opened and never closed"), help)
        }
        E::UnclosedFlowCollection { open: '[' }
        | E::UnexpectedEofFlowSequence
        | E::ExpectedFlowSequenceSeparator => (
            Some("a list in brackets lacks a `,` or its `]`"),
            "write lists as `[a, b]`",
        ),
        E::UnclosedFlowCollection { .. }
        | E::UnexpectedEofFlowMapping
        | E::UnexpectedEofImplicitFlowMapping
        | E::ExpectedFlowMappingSeparator => (
            Some("a mapping in braces lacks a `,` or its `}`"),
            "write mappings as `{name: win1, os: windows-2022}`",
        ),
        E::MismatchedFlowCollectionEnd { .. } | E::MisplacedFlowCollectionEnd => (
            Some("the brackets do not match"),
            "write lists as `[a, b]`, mappings as `{name: win1, os: windows-2022}`",
        ),
        E::SimpleKeyExpected | E::InvalidSimpleKey => (
            Some("a field lacks its `:`"),
            "write fields as `name: value`",
        ),
        E::InvalidIndentation
        | E::ExpectedBlockMappingKey
        | E::ExpectedBlockSequenceEntry
        | E::BlockSequenceEntryNotAllowed
        | E::MappingKeyNotAllowed
        | E::MappingValueNotAllowed
        | E::ExpectedDocumentStart => (
            Some("this line does not fit to the lines above it"),
            "fields of one mapping and items of one list begin in the same column; \
             a text with `: ` in it needs quotes",
        ),
        E::RecursionLimitExceeded => (Some("the document is nested too deep"), RIGHT_FILE),
        _ => (
            None,
            "a text with signs such as `: { } [ ] * & # |` in it needs quotes",
        ),
    }
}

pub(crate) fn too_large(most: usize) -> Diagnostic {
    let message = format!(
        "the file has more than {} KiB, so it is not read",
        most / 1024
    );
    Diagnostic::error(FieldPath::root(), message)
        .code(codes::TOO_LARGE)
        .help(RIGHT_FILE)
}

pub(crate) fn too_many(range: Range<usize>, most: usize) -> Diagnostic {
    at(range, format!("the document has more than {most} values"))
        .code(codes::TOO_LARGE)
        .help(RIGHT_FILE)
}

pub(crate) fn too_deep(range: Range<usize>, most: usize) -> Diagnostic {
    at(
        range,
        format!("the document is nested more than {most} deep"),
    )
    .code(codes::TOO_LARGE)
    .help(RIGHT_FILE)
}

/// Bytes that are no UTF-8; what wrote them is a guess that helps.
pub(crate) fn no_text(bytes: &[u8], valid: usize) -> Diagnostic {
    let utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    let message = if utf16 {
        "the file is UTF-16, only UTF-8 is read".to_owned()
    } else {
        let before = bytes.get(..valid).unwrap_or_default();
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("the file is no UTF-8 text: byte {valid}, in line {line}")
    };
    Diagnostic::error(FieldPath::root(), message)
        .code(codes::ENCODING)
        .help("save it as UTF-8")
}

pub(crate) fn no_document() -> Diagnostic {
    Diagnostic::error(FieldPath::root(), "the file is empty")
        .code(codes::DOCUMENTS)
        .help("a cluster begins with `apiVersion: casement.dev/v1alpha1`")
}

pub(crate) fn several_documents(range: Range<usize>) -> Diagnostic {
    at(range, "a second document begins here")
        .code(codes::DOCUMENTS)
        .help("one file holds one cluster; put the other into a file of its own")
}

pub(crate) fn alias(range: Range<usize>) -> Diagnostic {
    at(range, "aliases (`*name`) are not read")
        .code(codes::YAML_FEATURE)
        .help("write the value out; a text that begins with `*` needs quotes")
}

pub(crate) fn tag(range: Range<usize>) -> Diagnostic {
    at(range, "tags (`!name`) are not read")
        .code(codes::YAML_FEATURE)
        .help("leave the tag out; a text that begins with `!` needs quotes")
}

pub(crate) fn odd_key(range: Range<usize>) -> Diagnostic {
    at(range, "a field's name must be a text")
        .code(codes::YAML_FEATURE)
        .help("a value in `{…}` that is itself no mapping needs quotes")
}
