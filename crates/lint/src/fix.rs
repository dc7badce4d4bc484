//! Applies the fixes of findings to texts.

use std::collections::BTreeMap;
use std::ops::Range;

use casement_diag::{Diagnostic, Sources};

/// A text after its fixes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fixed {
    pub file: String,
    pub text: String,
    /// One description for each applied fix.
    pub applied: Vec<String>,
}

/// The edits to make to one text.
#[derive(Default)]
struct Pending {
    edits: Vec<(Range<usize>, String)>,
    descriptions: Vec<String>,
}

impl Pending {
    fn overlaps(&self, range: &Range<usize>) -> bool {
        let overlaps = |other: &Range<usize>| range.start <= other.end && other.start <= range.end;
        self.edits.iter().any(|(other, _)| overlaps(other))
    }
}

/// Applies the fixes of findings to texts. `original` returns the unredacted text
/// of a file name. Everything outside an edit is kept, including comments. If two
/// fixes overlap, only the first is applied; the second needs another run.
pub fn fix<'t>(
    findings: &[Diagnostic],
    sources: Sources<'_>,
    original: impl Fn(&str) -> Option<&'t str>,
) -> Vec<Fixed> {
    let mut texts: BTreeMap<String, Pending> = BTreeMap::new();
    for finding in findings {
        let Some(edits) = resolve_edits(finding, sources) else {
            continue;
        };
        let conflicts = |(file, range, _): &(String, Range<usize>, String)| {
            texts.get(file).is_some_and(|text| text.overlaps(range))
        };
        if edits.iter().any(conflicts) {
            continue;
        }
        for (file, range, replacement) in edits {
            let text = texts.entry(file).or_default();
            text.edits.push((range, replacement));
            text.descriptions.extend(describe(finding));
        }
    }
    let fixed = texts.into_iter().filter_map(|(file, pending)| {
        let text = apply_edits(original(&file)?, pending.edits);
        let applied = pending.descriptions;
        Some(Fixed {
            file,
            text,
            applied,
        })
    });
    fixed.collect()
}

/// The edits of a finding's fix as file, byte range and replacement; `None` if
/// there is no fix, or if an edit has no position in its file.
fn resolve_edits(
    finding: &Diagnostic,
    sources: Sources<'_>,
) -> Option<Vec<(String, Range<usize>, String)>> {
    let edits = finding.fix.as_ref()?.edits.iter();
    edits
        .map(|edit| {
            let file = edit.file.as_deref().or(finding.file.as_deref());
            let source = sources.get(file)?;
            let range = source.range(&edit.path, &edit.part)?;
            Some((source.name().to_owned(), range, edit.replacement.clone()))
        })
        .collect()
}

fn describe(finding: &Diagnostic) -> Option<String> {
    let title = &finding.fix.as_ref()?.title;
    Some(match &finding.code {
        Some(code) => format!("{code}: {title}"),
        None => title.clone(),
    })
}

fn apply_edits(original: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    let mut text = original.to_owned();
    edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    for (range, replacement) in edits {
        if text.get(range.clone()).is_some() {
            text.replace_range(range, &replacement);
        }
    }
    text
}
