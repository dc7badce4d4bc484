//! Lint rules: pure functions that map the cluster file, files of other tools and
//! the catalog to findings.
//!
//! [`lint`] runs every [`Rule`] and never stops at the first finding. Code, input
//! and purpose of a rule are data ([`rules`]); its title and page come from
//! [`casement_diag::codes`]. This crate opens no files and contacts no hosts: failures that only a
//! running system shows are listed in [`RUNTIME_ONLY`].
//!
//! ```
//! use casement_lint::{Input, lint};
//! use casement_source::foreign;
//!
//! let conf = br#"{"Network": "10.244.0.0/16", "Backend": {"Type": "vxlan", "VNI": 1, "Port": 4789}}"#;
//! let files = [foreign::read("net-conf.json", conf)];
//! let findings = lint(&Input { spec: None, files: &files });
//! assert_eq!(findings[0].message, "the VNI is 1, but Windows supports only 4096 to 65535");
//! ```

// This crate is pure; see clippy.toml.
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod cni;
mod context;
mod fix;
mod kind;
mod load_codes;
mod pod;
mod report;
mod rule;
mod rules;
mod runtime_only;
mod statement;
mod summary_line;
mod table;

use casement_diag::{Code, Diagnostic, Source, Sources};

pub use context::{Input, SpecFile};
pub use fix::{Fixed, fix};
pub use load_codes::{LOAD_CODES, LoadCode};
pub use report::{Report, Text, Texts, fix_all};
pub use rule::{Reads, Rule};
pub use rules::rules;
pub use runtime_only::{RUNTIME_ONLY, RuntimeOnly};
pub use summary_line::summary_line;
pub use table::table;

use context::Context;

/// All findings, ordered by file and line.
pub fn lint(input: &Input<'_>) -> Vec<Diagnostic> {
    lint_by(input, |_| true)
}

/// Like [`lint`], with only the rules that `include` selects.
pub fn lint_by(input: &Input<'_>, include: impl Fn(&Rule) -> bool) -> Vec<Diagnostic> {
    let context = Context::new(input);
    let mut findings = Vec::new();
    for rule in rules().filter(|rule| include(rule)) {
        let found = (rule.check)(&context);
        findings.extend(found.into_iter().map(|d| d.code(Code::new(rule.code))));
    }
    sort_findings(&mut findings, &input.sources());
    findings
}

/// Sorts by file, then by position.
fn sort_findings(findings: &mut [Diagnostic], sources: &[&dyn Source]) {
    let all = Sources::new(sources);
    findings.sort_by_cached_key(|finding| {
        let file = finding.file.as_deref();
        let named = |source: &&dyn Source| Some(source.name()) == file;
        let number = sources.iter().position(named).unwrap_or_default();
        let source = all.get(file);
        let range = source.and_then(|source| source.range(&finding.path, &finding.part));
        (number, range.map_or(0, |range| range.start))
    });
}
