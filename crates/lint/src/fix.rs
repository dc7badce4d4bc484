//! Fixes as changes of texts.

use std::collections::BTreeMap;
use std::ops::Range;

use casement_diag::{Diagnostic, Sources};

/// What became of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fixed {
    /// The name of the text.
    pub file: String,
    /// What it is now.
    pub text: String,
    /// What was done, in words.
    pub done: Vec<String>,
}

/// What is to be done to one text.
#[derive(Default)]
struct Pending {
    edits: Vec<(Range<usize>, String)>,
    done: Vec<String>,
}

impl Pending {
    fn touches(&self, range: &Range<usize>) -> bool {
        let touches = |other: &Range<usize>| range.start <= other.end && other.start <= range.end;
        self.edits.iter().any(|(other, _)| touches(other))
    }
}

/// Applies the fixes of findings to texts; `original` gives a text by its name,
/// with nothing blanked out. Everything around an edit stays as it is, comments
/// included. Of two fixes that touch each other, the second waits for another
/// run.
pub fn fix<'t>(
    findings: &[Diagnostic],
    sources: Sources<'_>,
    original: impl Fn(&str) -> Option<&'t str>,
) -> Vec<Fixed> {
    let mut texts: BTreeMap<String, Pending> = BTreeMap::new();
    for finding in findings {
        let Some(placed) = placed(finding, sources) else {
            continue;
        };
        let taken = |(file, range, _): &(String, Range<usize>, String)| {
            texts.get(file).is_some_and(|text| text.touches(range))
        };
        if placed.iter().any(taken) {
            continue;
        }
        for (file, range, replacement) in placed {
            let text = texts.entry(file).or_default();
            text.edits.push((range, replacement));
            text.done.extend(words(finding));
        }
    }
    let fixed = texts.into_iter().filter_map(|(file, pending)| {
        let text = applied(original(&file)?, pending.edits);
        let done = pending.done;
        Some(Fixed { file, text, done })
    });
    fixed.collect()
}

/// The edits of a finding's fix, each with its text and bytes; `None` where there
/// is none, or where one has no place.
fn placed(
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

fn words(finding: &Diagnostic) -> Option<String> {
    let title = &finding.fix.as_ref()?.title;
    Some(match &finding.code {
        Some(code) => format!("{code}: {title}"),
        None => title.clone(),
    })
}

fn applied(original: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    let mut text = original.to_owned();
    edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    for (range, replacement) in edits {
        if text.get(range.clone()).is_some() {
            text.replace_range(range, &replacement);
        }
    }
    text
}
