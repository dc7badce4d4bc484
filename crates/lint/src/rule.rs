//! What a rule is.

use casement_diag::{Diagnostic, Severity};

use crate::context::Context;

/// What a rule looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// The cluster file.
    Spec,
    /// The cluster file, and files of other tools where some are given.
    SpecFirst,
    /// Files of other tools.
    Files,
    /// Files of other tools, and the cluster file where one is given.
    FilesFirst,
    /// Either of them.
    Either,
    /// One against the other.
    Together,
}

/// One rule.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Its stable name; all of its findings have it.
    pub code: &'static str,
    /// What its findings mean, in one line.
    pub title: &'static str,
    /// How much they usually matter.
    pub severity: Severity,
    /// What it looks at.
    pub reads: Reads,
    /// The entries of the list of known failures that it answers.
    pub answers: &'static str,
    /// The long form.
    pub page: &'static str,
    pub(crate) check: for<'a> fn(&Context<'a>) -> Vec<Diagnostic>,
}

/// A rule with its page, which lies in `docs/lints/`.
macro_rules! rule {
    ($code:literal, $severity:ident, $reads:ident, $answers:literal, $title:literal, $check:path) => {
        $crate::rule::Rule {
            code: $code,
            title: $title,
            severity: casement_diag::Severity::$severity,
            reads: $crate::rule::Reads::$reads,
            answers: $answers,
            page: include_str!(concat!("../../../../docs/lints/", $code, ".md")),
            check: $check,
        }
    };
}
pub(crate) use rule;
