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

/// Applies the fixes of findings to texts; `original` gives a text by its name,
/// with nothing blanked out. Everything around an edit stays as it is, comments
/// included. Of two fixes that touch each other, the second waits for another
/// run.
pub fn fix<'t>(
    findings: &[Diagnostic],
    sources: Sources<'_>,
    original: impl Fn(&str) -> Option<&'t str>,
) -> Vec<Fixed> {
    let mut changes: BTreeMap<String, (Vec<(Range<usize>, String)>, Vec<String>)> = BTreeMap::new();
    for finding in findings {
        let Some(fix) = &finding.fix else { continue };
        let placed: Option<Vec<_>> = fix
            .edits
            .iter()
            .map(|edit| {
                let file = edit.file.as_deref().or(finding.file.as_deref());
                let source = sources.get(file)?;
                let range = source.range(&edit.path, &edit.part)?;
                Some((source.name().to_owned(), range, edit.replacement.clone()))
            })
            .collect();
        let Some(placed) = placed else { continue };
        let free = placed.iter().all(|(file, range, _)| {
            let taken = changes.get(file).map(|(edits, _)| edits.as_slice());
            let touches = |(other, _): &(Range<usize>, String)| {
                range.start <= other.end && other.start <= range.end
            };
            !taken.unwrap_or_default().iter().any(touches)
        });
        if !free {
            continue;
        }
        for (file, range, replacement) in placed {
            let (edits, done) = changes.entry(file).or_default();
            edits.push((range, replacement));
            let said = match &finding.code {
                Some(code) => format!("{code}: {}", fix.title),
                None => fix.title.clone(),
            };
            if done.last() != Some(&said) {
                done.push(said);
            }
        }
    }
    let fixed = changes.into_iter().filter_map(|(file, (mut edits, done))| {
        let mut text = original(&file)?.to_owned();
        edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
        for (range, replacement) in edits {
            if text.get(range.clone()).is_some() {
                text.replace_range(range, &replacement);
            }
        }
        Some(Fixed { file, text, done })
    });
    fixed.collect()
}
