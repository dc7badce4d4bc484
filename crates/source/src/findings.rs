//! A bounded list of findings, so that a hostile file cannot exhaust memory.

use casement_diag::{Diagnostic, FieldPath, Severity, Source};

use crate::source_map::SourceMap;

const MAX_SHOWN: usize = 100;
/// Kept until they are sorted by position and cut to `MAX_SHOWN`.
const MAX_KEPT: usize = 2000;

#[derive(Debug, Default)]
pub(crate) struct Findings {
    kept: Vec<Diagnostic>,
    /// Number of findings beyond `MAX_KEPT`.
    more: usize,
    errors: bool,
}

impl Findings {
    pub(crate) fn add(&mut self, finding: Diagnostic) {
        self.errors |= finding.severity == Severity::Error;
        if self.is_full() {
            self.more += 1;
        } else {
            self.kept.push(finding);
        }
    }

    /// Further findings are only counted, so callers can skip building them.
    pub(crate) fn is_full(&self) -> bool {
        self.kept.len() >= MAX_KEPT
    }

    /// Counts an error without keeping it.
    pub(crate) fn count_error(&mut self) {
        self.errors = true;
        self.more += 1;
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.errors
    }

    /// The findings to show, by position.
    pub(crate) fn in_order(mut self, map: &SourceMap) -> Vec<Diagnostic> {
        self.kept.sort_by_cached_key(|finding| {
            let range = map.range(&finding.path, &finding.part);
            range.map_or(0, |range| range.start)
        });
        let more = self.more + self.kept.len().saturating_sub(MAX_SHOWN);
        self.kept.truncate(MAX_SHOWN);
        if more > 0 {
            let severity = match self.errors {
                true => Severity::Error,
                false => Severity::Note,
            };
            let message = match more {
                1 => "1 more finding is not shown".to_owned(),
                more => format!("{more} more findings are not shown"),
            };
            self.kept
                .push(Diagnostic::new(severity, FieldPath::root(), message));
        }
        self.kept
    }
}
