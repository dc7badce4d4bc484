//! The definition of a rule.

use casement_diag::codes::Entry;
use casement_diag::{Diagnostic, Severity};

use crate::context::Context;

/// The input that a rule checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// The cluster file.
    Spec,
    /// The cluster file, and files of other tools if given.
    SpecFirst,
    /// Files of other tools.
    Files,
    /// Files of other tools, and the cluster file if given.
    FilesFirst,
    /// Either the cluster file or files of other tools.
    Either,
    /// The cluster file compared with files of other tools.
    Together,
}

#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Stable; part of all its findings.
    pub code: &'static str,
    pub entry: &'static Entry,
    /// The highest severity of its findings.
    pub severity: Severity,
    pub reads: Reads,
    /// Entries of the list of known failures.
    pub covers: &'static str,
    pub(crate) check: for<'a> fn(&Context<'a>) -> Vec<Diagnostic>,
}

/// A rule; without its page in `docs/codes/`, the build fails.
macro_rules! rule {
    ($code:literal, $severity:ident, $reads:ident, $covers:literal, $check:path) => {
        $crate::rule::Rule {
            code: $code,
            entry: casement_diag::codes::constant($code),
            severity: casement_diag::Severity::$severity,
            reads: $crate::rule::Reads::$reads,
            covers: $covers,
            check: $check,
        }
    };
}
pub(crate) use rule;
