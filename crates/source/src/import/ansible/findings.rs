//! Collects findings about inventory files.

use std::ops::Range;

use casement_diag::{Code, Diagnostic, FieldPath, Part, has_errors};

use super::{FileDiagnostic, MAX_HOSTS, codes};
use crate::import::TextFile;
use crate::syntax;

const MAX_FINDINGS: usize = 100;

#[derive(Debug)]
pub(super) struct Findings {
    found: Vec<FileDiagnostic>,
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
        at: Span,
        code: Code,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.add(at, Diagnostic::error(FieldPath::root(), message).code(code))
    }

    pub(super) fn warning(
        &mut self,
        at: Span,
        code: Code,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.add(
            at,
            Diagnostic::warning(FieldPath::root(), message).code(code),
        )
    }

    /// For hosts of ranges and hosts that are listed one by one.
    pub(super) fn too_many_hosts(&mut self, at: Span) {
        let message = format!("the inventory has more than {},000 hosts", MAX_HOSTS / 1000);
        let finding = self.error(at, codes::TOO_LARGE, message);
        finding.help = Some("check that it is the right file".to_owned());
    }

    fn add(&mut self, at: Span, diagnostic: Diagnostic) -> &mut Diagnostic {
        let file = at.file.min(self.files);
        let diagnostic = diagnostic.at(Part::Bytes(at.range));
        let index = self.found.len().min(MAX_FINDINGS);
        self.found.truncate(MAX_FINDINGS);
        self.found.push(FileDiagnostic { file, diagnostic });
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

    pub(super) fn in_order(mut self) -> Vec<FileDiagnostic> {
        self.found
            .sort_by_key(|found| match &found.diagnostic.part {
                Part::Bytes(range) => (found.file, range.start),
                Part::Key | Part::Value => (found.file, 0),
            });
        self.found
    }

    /// Whether a file cannot be read: too large, or encrypted with a vault password.
    pub(super) fn rejected(&mut self, file: usize, text: &TextFile, max: usize) -> bool {
        let at = Span {
            file,
            range: 0..text.text.lines().next().unwrap_or_default().len(),
        };
        if text.text.len() > max {
            let too_large = syntax::too_large(max);
            self.error(at, codes::TOO_LARGE, too_large.message).help =
                Some("check that it is the right file".to_owned());
            return true;
        }
        if text.text.starts_with("$ANSIBLE_VAULT") {
            let message = format!("`{}` is encrypted with a vault password", text.name);
            if file == 0 {
                let finding = self.error(at, codes::ENCRYPTED, message);
                finding.help = Some(format!(
                    "decrypt a copy with `ansible-vault decrypt --output plain.yml {}`, and import it",
                    text.name
                ));
                return true;
            }
            let finding = self.warning(at, codes::ENCRYPTED, message);
            finding
                .notes
                .push("its variables are not imported".to_owned());
            finding.help = Some("run `ansible-vault view` to see them; put secrets into files or environment variables, or use a prompt".to_owned());
            return true;
        }
        false
    }
}

/// A byte range in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) file: usize,
    pub(super) range: Range<usize>,
}

impl Span {
    /// A range in the inventory file.
    pub(super) fn main(range: Range<usize>) -> Self {
        Self { file: 0, range }
    }
}
