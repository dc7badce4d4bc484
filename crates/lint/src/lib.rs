//! Rules: pure functions of the cluster file, of files of other tools, and of
//! the catalog, to findings.
//!
//! [`lint`] runs every [`Rule`] and never stops at the first finding. What a rule
//! is called, what it reads and why it exists is data ([`rules`]), and [`explain`]
//! has a page for every code. No file is opened and no host is looked at here:
//! what only a host can tell is listed ([`OBSERVED`]), not guessed.
//!
//! ```
//! use casement_lint::{Input, lint};
//! use casement_source::foreign;
//!
//! let conf = br#"{"Network": "10.244.0.0/16", "Backend": {"Type": "vxlan", "VNI": 1, "Port": 4789}}"#;
//! let files = [foreign::read("net-conf.json", conf)];
//! let findings = lint(&Input { spec: None, files: &files });
//! assert_eq!(findings[0].message, "the VNI is 1, Windows takes 4096 to 65535");
//! ```

mod cni;
mod context;
mod explain;
mod fix;
mod kind;
#[path = "summary_line.rs"]
mod last_line;
#[path = "runtime_only.rs"]
mod observed;
mod pod;
mod reading;
mod report;
mod rule;
mod rules;
#[path = "statement.rs"]
mod said;
mod table;

use casement_diag::{Code, Diagnostic, Source, Sources};

pub use context::{Input, SpecFile};
pub use explain::{Page, explain, pages};
pub use fix::{Fixed, fix};
pub use last_line::last_line;
pub use observed::{OBSERVED, Observed};
pub use reading::{READING, Reading};
pub use report::{Report, Text, Texts, mend};
pub use rule::{Reads, Rule};
pub use rules::rules;
pub use table::table;

use context::Context;

/// Everything that is wrong, in the order of the files and of their lines.
pub fn lint(input: &Input<'_>) -> Vec<Diagnostic> {
    lint_by(input, |_| true)
}

/// The same for some rules only.
pub fn lint_by(input: &Input<'_>, wanted: impl Fn(&Rule) -> bool) -> Vec<Diagnostic> {
    let context = Context::new(input);
    let mut findings = Vec::new();
    for rule in rules().filter(|rule| wanted(rule)) {
        let found = (rule.check)(&context);
        findings.extend(found.into_iter().map(|d| d.code(Code::new(rule.code))));
    }
    in_order(&mut findings, &input.sources());
    findings
}

/// Sorts by text and place.
fn in_order(findings: &mut [Diagnostic], sources: &[&dyn Source]) {
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
