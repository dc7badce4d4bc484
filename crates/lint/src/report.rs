//! Texts in, findings out, and texts that were mended.

use std::collections::BTreeSet;

use casement_diag::{Diagnostic, Source, Sources, has_errors};
use casement_source::foreign::{self, Foreign};
use casement_source::{Loaded, load_bytes};

use crate::context::{Input, SpecFile};
use crate::fix::fix;
use crate::{in_order, lint};

/// A text that is linted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// What it is called in messages, usually its path as the user gave it.
    pub name: String,
    /// What it holds.
    pub bytes: Vec<u8>,
}

/// What is linted, as it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Texts {
    /// The cluster file, where one is given.
    pub spec: Option<Text>,
    /// Files of other tools.
    pub files: Vec<Text>,
}

/// What was found.
#[derive(Debug)]
pub struct Report {
    spec: Option<Loaded>,
    files: Vec<Foreign>,
    /// Every finding, in the order of the texts and of their lines.
    pub findings: Vec<Diagnostic>,
}

impl Report {
    /// Lints; a cluster file with errors does not keep the others from it.
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
        in_order(&mut findings, &report.sources());
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

    /// The texts that the findings point into.
    pub fn sources(&self) -> Vec<&dyn Source> {
        let spec = self.spec.iter().map(|loaded| &loaded.map as &dyn Source);
        let files = self.files.iter().map(|file| file.map() as &dyn Source);
        spec.chain(files).collect()
    }

    /// Whether anything stops everything.
    pub fn has_errors(&self) -> bool {
        has_errors(&self.findings)
    }
}

/// Fixes may bring others to light; more rounds than that nobody needs.
const ROUNDS: usize = 8;

/// Applies every fix, lints again, and goes on while that makes things better.
/// Gives what was done, as file and words; the texts are changed in place.
pub fn mend(texts: &mut Texts) -> Vec<(String, String)> {
    let mut done = Vec::new();
    for _ in 0..ROUNDS {
        let before = Report::new(texts);
        let (better, words) = mended(texts, &before);
        if words.is_empty() || Report::new(&better).findings.len() >= before.findings.len() {
            break;
        }
        *texts = better;
        done.extend(words);
    }
    done
}

fn mended(texts: &Texts, report: &Report) -> (Texts, Vec<(String, String)>) {
    let mut better = texts.clone();
    let sources = report.sources();
    let all = texts.spec.iter().chain(&texts.files);
    let all: Vec<_> = all.collect();
    let original = |name: &str| {
        let text = all.iter().find(|text| text.name == name)?;
        std::str::from_utf8(&text.bytes).ok()
    };
    let mut words = Vec::new();
    for fixed in fix(&report.findings, Sources::new(&sources), original) {
        for text in better.spec.iter_mut().chain(&mut better.files) {
            if text.name == fixed.file {
                text.bytes = fixed.text.clone().into_bytes();
            }
        }
        let unique: BTreeSet<_> = fixed.done.into_iter().collect();
        words.extend(unique.into_iter().map(|said| (fixed.file.clone(), said)));
    }
    (better, words)
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
    fn fixes_that_touch_are_applied_one_after_the_other() {
        let conf = r#"{"Network": "10.244.0.0/16", "Backend": {"Type": "vxlan"}} "#;
        let mut texts = texts(&[("net-conf.json", conf)]);
        let done = mend(&mut texts);
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
    fn a_broken_file_hides_nothing_in_the_others() {
        let conf = r#"{"Network": "10.244.0.0/16", "Backend": {"Type": "ipsec"}}"#;
        let report = Report::new(&texts(&[("a.json", "{"), ("net-conf.json", conf)]));
        assert_eq!(report.findings.len(), 2);
        assert!(report.has_errors());
    }
}
