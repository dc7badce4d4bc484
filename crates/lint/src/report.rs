//! Lints texts, and applies all fixes to them.

use std::collections::BTreeSet;

use casement_diag::{Diagnostic, Source, Sources, has_errors};
use casement_source::foreign::{self, Foreign};
use casement_source::{Loaded, load_bytes};

use crate::context::{Input, SpecFile};
use crate::fix::fix;
use crate::{lint, sort_findings};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// Usually the path as given by the user; shown in messages.
    pub name: String,
    pub bytes: Vec<u8>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Texts {
    pub spec: Option<Text>,
    /// Files of other tools.
    pub files: Vec<Text>,
}

#[derive(Debug)]
pub struct Report {
    spec: Option<Loaded>,
    files: Vec<Foreign>,
    /// Ordered by text and line.
    pub findings: Vec<Diagnostic>,
}

impl Report {
    /// Lints all texts; errors in the cluster file do not prevent the others from
    /// being checked.
    pub fn new(texts: &Texts) -> Self {
        let spec = texts
            .spec
            .as_ref()
            .map(|text| load_bytes(&text.name, &text.bytes));
        let files = texts
            .files
            .iter()
            .map(|text| foreign::read(&text.name, &text.bytes));
        let mut report = Self {
            spec,
            files: files.collect(),
            findings: Vec::new(),
        };
        let read = report
            .spec
            .iter()
            .flat_map(|loaded| loaded.diagnostics.clone());
        let mut findings: Vec<_> = read.collect();
        findings.extend(lint(&report.input()));
        sort_findings(&mut findings, &report.sources());
        report.findings = findings;
        report
    }

    fn input(&self) -> Input<'_> {
        let spec = self.spec.as_ref().and_then(|loaded| {
            Some(SpecFile {
                cluster: loaded.cluster.as_ref()?,
                map: &loaded.map,
            })
        });
        Input {
            spec,
            files: &self.files,
        }
    }

    /// The texts that the findings refer to.
    pub fn sources(&self) -> Vec<&dyn Source> {
        let spec = self.spec.iter().map(|loaded| &loaded.map as &dyn Source);
        let files = self.files.iter().map(|file| file.map() as &dyn Source);
        spec.chain(files).collect()
    }

    pub fn has_errors(&self) -> bool {
        has_errors(&self.findings)
    }
}

/// Fixes may reveal further findings; in practice fewer rounds are enough.
const ROUNDS: usize = 8;

/// Applies all fixes and lints again, as long as the number of findings decreases.
/// Changes the texts in place and returns file and description of each fix.
pub fn fix_all(texts: &mut Texts) -> Vec<(String, String)> {
    let mut done = Vec::new();
    for _ in 0..ROUNDS {
        let before = Report::new(texts);
        let (better, fixes) = fix_once(texts, &before);
        if fixes.is_empty() || Report::new(&better).findings.len() >= before.findings.len() {
            break;
        }
        *texts = better;
        done.extend(fixes);
    }
    done
}

fn fix_once(texts: &Texts, report: &Report) -> (Texts, Vec<(String, String)>) {
    let mut better = texts.clone();
    let sources = report.sources();
    let all = texts.spec.iter().chain(&texts.files);
    let all: Vec<_> = all.collect();
    let original = |name: &str| {
        let text = all.iter().find(|text| text.name == name)?;
        std::str::from_utf8(&text.bytes).ok()
    };
    let mut fixes = Vec::new();
    for fixed in fix(&report.findings, Sources::new(&sources), original) {
        for text in better.spec.iter_mut().chain(&mut better.files) {
            if text.name == fixed.file {
                text.bytes = fixed.text.clone().into_bytes();
            }
        }
        let unique: BTreeSet<_> = fixed.applied.into_iter().collect();
        fixes.extend(unique.into_iter().map(|fix| (fixed.file.clone(), fix)));
    }
    (better, fixes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(files: &[(&str, &str)]) -> Texts {
        let text = |(name, text): &(&str, &str)| Text {
            name: (*name).to_owned(),
            bytes: text.as_bytes().to_vec(),
        };
        Texts {
            spec: None,
            files: files.iter().map(text).collect(),
        }
    }

    #[test]
    fn overlapping_fixes_are_applied_in_separate_rounds() {
        let conf = r#"{"Network": "10.244.0.0/16", "Backend": {"Type": "vxlan"}} "#;
        let mut texts = texts(&[("net-conf.json", conf)]);
        let done = fix_all(&mut texts);
        assert_eq!(done.len(), 2);
        let report = Report::new(&texts);
        assert_eq!(report.findings, []);
        let text = String::from_utf8(texts.files.remove(0).bytes).unwrap();
        assert!(
            text.contains(r#""VNI": 4096"#) && text.contains(r#""Port": 4789"#),
            "{text}"
        );
    }

    #[test]
    fn an_invalid_file_does_not_hide_findings_in_others() {
        let conf = r#"{"Network": "10.244.0.0/16", "Backend": {"Type": "ipsec"}}"#;
        let report = Report::new(&texts(&[("a.json", "{"), ("net-conf.json", conf)]));
        assert_eq!(report.findings.len(), 2);
        assert!(report.has_errors());
    }
}
