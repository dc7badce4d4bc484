//! Findings in the making.

use std::ops::Range;

use casement_diag::{Code, Diagnostic, FieldPath, Part, has_errors};

use super::{Found, codes};
use crate::import::TextFile;
use crate::syntax;

/// Nobody mends more in one go.
const MOST: usize = 100;

/// Collects what is wrong with the files.
#[derive(Debug)]
pub(super) struct Findings {
    found: Vec<Found>,
    files: usize,
}

impl Findings {
    pub(super) fn new(files: &[TextFile]) -> Self {
        Self {
            found: Vec::new(),
            files: files.len(),
        }
    }

    pub(super) fn error(
        &mut self,
        at: At,
        code: Code,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.add(at, Diagnostic::error(FieldPath::root(), message).code(code))
    }

    pub(super) fn warning(
        &mut self,
        at: At,
        code: Code,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.add(
            at,
            Diagnostic::warning(FieldPath::root(), message).code(code),
        )
    }

    fn add(&mut self, at: At, diagnostic: Diagnostic) -> &mut Diagnostic {
        let file = at.file.min(self.files);
        let diagnostic = diagnostic.at(Part::Bytes(at.range));
        let index = self.found.len().min(MOST);
        self.found.truncate(MOST);
        self.found.push(Found { file, diagnostic });
        #[expect(clippy::indexing_slicing, reason = "pushed at this index just now")]
        &mut self.found[index].diagnostic
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.found.extend(other.found);
    }

    pub(super) fn has_errors(&self) -> bool {
        let found = self.found.iter();
        found
            .clone()
            .any(|found| has_errors(std::slice::from_ref(&found.diagnostic)))
    }

    pub(super) fn in_order(mut self) -> Vec<Found> {
        self.found
            .sort_by_key(|found| match &found.diagnostic.part {
                Part::Bytes(range) => (found.file, range.start),
                Part::Key | Part::Value => (found.file, 0),
            });
        self.found
    }

    /// Whether a file is not read at all: too large, or only its owner's vault
    /// password opens it.
    pub(super) fn refused(&mut self, file: usize, text: &TextFile, most: usize) -> bool {
        let at = At {
            file,
            range: 0..text.text.lines().next().unwrap_or_default().len(),
        };
        if text.text.len() > most {
            let too_large = syntax::too_large(most);
            self.error(at, codes::TOO_LARGE, too_large.message).help =
                Some("is it the right file?".to_owned());
            return true;
        }
        if text.text.starts_with("$ANSIBLE_VAULT") {
            let message = format!("`{}` is encrypted with a vault password", text.name);
            let finding = self.warning(at, codes::ENCRYPTED, message);
            finding
                .notes
                .push("nothing in it is carried over".to_owned());
            finding.help = Some("`ansible-vault view` shows it; secrets go into files, variables of the environment or a prompt".to_owned());
            if file == 0 {
                finding.severity = casement_diag::Severity::Error;
            }
            return true;
        }
        false
    }
}

/// Where in which file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct At {
    pub(super) file: usize,
    pub(super) range: Range<usize>,
}

impl At {
    /// In the inventory itself.
    pub(super) fn main(range: Range<usize>) -> Self {
        Self { file: 0, range }
    }
}
