//! What was found, kept within bounds: a hostile file must not fill the memory
//! with complaints about it.

use casement_diag::{Diagnostic, FieldPath, Severity, Source};

use crate::source_map::SourceMap;

/// Nobody mends more in one go.
const MOST_SHOWN: usize = 100;
/// So many are kept until it is known which of them stand first in the text.
const MOST_KEPT: usize = 2000;

/// Findings, and the number of those that were too many.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    kept: Vec<Diagnostic>,
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

    /// Whether what else is found is only counted, so that it need not be put
    /// into words.
    pub(crate) fn is_full(&self) -> bool {
        self.kept.len() >= MOST_KEPT
    }

    /// Counts an error that nobody would read.
    pub(crate) fn count_error(&mut self) {
        self.errors = true;
        self.more += 1;
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.errors
    }

    /// Those that are shown, sorted by place.
    pub(crate) fn in_order(mut self, map: &SourceMap) -> Vec<Diagnostic> {
        self.kept.sort_by_cached_key(|finding| {
            let range = map.range(&finding.path, &finding.part);
            range.map_or(0, |range| range.start)
        });
        let more = self.more + self.kept.len().saturating_sub(MOST_SHOWN);
        self.kept.truncate(MOST_SHOWN);
        if more > 0 {
            let severity = match self.errors {
                true => Severity::Error,
                false => Severity::Note,
            };
            let message = format!("{more} more findings are not shown");
            self.kept
                .push(Diagnostic::new(severity, FieldPath::root(), message));
        }
        self.kept
    }
}
