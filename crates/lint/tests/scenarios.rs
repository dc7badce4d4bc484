//! Every directory of `scenarios/lints/CODE/`: files and their expected findings.
//!
//! A directory `fails…` has findings of its rule only, a directory `passes…` has
//! none. `BLESS=1 cargo test -p casement-lint --test scenarios` updates the expected
//! findings; review the diff.

#![allow(clippy::unwrap_used, reason = "a failed unwrap reports its location")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use casement_diag::{Diagnostic, Severity, Sources, Style, json_with_sources, render_with_sources};
use casement_golden::Goldens;
use casement_lint::{Input, Rule, SpecFile, fix, lint_by, rules, summary_line};
use casement_source::foreign::{self, Foreign};
use casement_source::{Loaded, load};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/lints")
}

struct Scenario {
    folder: PathBuf,
    code: String,
    texts: Vec<(String, String)>,
}

struct Read {
    spec: Option<Loaded>,
    files: Vec<Foreign>,
}

impl Scenario {
    fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for code in folders(&root()) {
            for folder in folders(&code) {
                let mut texts = Vec::new();
                gather(&folder, "", &mut texts);
                texts.sort();
                let code = code.file_name().unwrap().to_str().unwrap().to_owned();
                all.push(Self {
                    folder,
                    code,
                    texts,
                });
            }
        }
        all
    }

    fn fails(&self) -> bool {
        let name = self.folder.file_name().unwrap().to_str().unwrap();
        assert!(
            name.starts_with("fails") || name.starts_with("passes"),
            "{}: neither `fails…` nor `passes…`",
            self.folder.display()
        );
        name.starts_with("fails")
    }

    fn read(&self) -> Read {
        read(&self.texts)
    }

    fn expected(&self) -> String {
        let path = self.folder.join("expected.txt");
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }
}

fn read(texts: &[(String, String)]) -> Read {
    let mut read = Read {
        spec: None,
        files: Vec::new(),
    };
    for (name, text) in texts {
        if name == "cluster.yaml" {
            read.spec = Some(load(name, text));
        } else {
            read.files.push(foreign::read(name, text.as_bytes()));
        }
    }
    read
}

impl Read {
    fn input(&self) -> Input<'_> {
        let spec = self.spec.as_ref().map(|loaded| SpecFile {
            cluster: match &loaded.cluster {
                Some(cluster) => cluster,
                None => panic!("the cluster file has errors: {:#?}", loaded.diagnostics),
            },
            map: &loaded.map,
        });
        Input {
            spec,
            files: &self.files,
        }
    }

    fn findings(&self, include: impl Fn(&Rule) -> bool) -> Vec<Diagnostic> {
        lint_by(&self.input(), include)
    }

    fn shown(&self, include: impl Fn(&Rule) -> bool) -> String {
        let findings = self.findings(include);
        let sources = self.input().sources();
        let text = render_with_sources(&findings, Sources::new(&sources), Style::Plain);
        match summary_line(&findings) {
            Some(line) => format!("{text}\n{line}\n"),
            None => "no findings\n".to_owned(),
        }
    }
}

fn folders(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root).unwrap_or_else(|error| panic!("{}: {error}", root.display()));
    let mut all: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

fn gather(folder: &Path, prefix: &str, into: &mut Vec<(String, String)>) {
    for path in folders(folder) {
        let name = format!("{prefix}{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            gather(&path, &format!("{name}/"), into);
        } else if name != "expected.txt" {
            into.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
}

#[test]
fn every_scenario_has_the_expected_findings() {
    let mut goldens = Goldens::named(root(), ["expected.txt"]);
    for scenario in Scenario::all() {
        let file = scenario.folder.join("expected.txt");
        let file = file.strip_prefix(root()).unwrap();
        goldens.add(file, scenario.read().shown(|_| true));
    }
    goldens.assert();
}

#[test]
fn every_rule_has_a_scenario_that_fails_and_one_that_passes() {
    let all = Scenario::all();
    let mut missing = Vec::new();
    for rule in rules() {
        for fails in [true, false] {
            if !all
                .iter()
                .any(|s| s.code == rule.code && s.fails() == fails)
            {
                missing.push(format!(
                    "{} {}",
                    rule.code,
                    if fails { "fails" } else { "passes" }
                ));
            }
        }
    }
    let known: BTreeSet<_> = rules().map(|rule| rule.code).collect();
    for scenario in &all {
        assert!(
            known.contains(scenario.code.as_str()),
            "{}",
            scenario.folder.display()
        );
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn a_scenario_has_only_findings_of_its_own_rule() {
    let mut wrong = Vec::new();
    for scenario in Scenario::all() {
        let findings = scenario.read().findings(|_| true);
        let codes: BTreeSet<_> = findings
            .iter()
            .map(|d| d.code.as_ref().unwrap().to_string())
            .collect();
        let expected = if scenario.fails() {
            BTreeSet::from([scenario.code.clone()])
        } else {
            BTreeSet::new()
        };
        if codes != expected {
            wrong.push(format!("{}: {codes:?}", scenario.folder.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn disabling_a_rule_changes_only_its_own_scenarios() {
    let all = Scenario::all();
    let read: Vec<_> = all
        .iter()
        .map(|scenario| {
            let read = scenario.read();
            assert_eq!(read.shown(|_| true), scenario.expected());
            let all = read.findings(|_| true);
            (scenario, read, all)
        })
        .collect();
    for disabled in rules() {
        for (scenario, read, all) in &read {
            let changed = read.findings(|rule| rule.code != disabled.code) != *all;
            let own = scenario.code == disabled.code && scenario.fails();
            let folder = scenario.folder.display();
            assert_eq!(changed, own, "without {}: {folder}", disabled.code);
        }
    }
}

#[test]
fn every_finding_has_a_location_and_help_and_fits_the_screen() {
    for scenario in Scenario::all() {
        let read = scenario.read();
        let sources = read.input().sources();
        let sources = Sources::new(&sources);
        for finding in read.findings(|_| true) {
            let folder = scenario.folder.display();
            assert!(
                sources.get(finding.file.as_deref()).is_some(),
                "{folder}: {finding:?}"
            );
            assert!(finding.help.is_some(), "{folder}: {finding:?}");
            assert!(
                finding.message.chars().count() <= 140,
                "{folder}: {}",
                finding.message
            );
            assert!(
                !finding.message.ends_with('.'),
                "{folder}: {}",
                finding.message
            );
            for label in &finding.labels {
                let file = label.file.as_deref().or(finding.file.as_deref());
                let range = sources
                    .get(file)
                    .and_then(|source| source.range(&label.path, &label.part));
                assert!(range.is_some(), "{folder}: {label:?}");
            }
        }
        let shown = read.shown(|_| true);
        assert!(
            shown.lines().count() <= 60,
            "{}: longer than a screen",
            scenario.folder.display()
        );
    }
}

#[test]
fn severities_do_not_exceed_that_of_the_rule() {
    for scenario in Scenario::all() {
        let rule = rules().find(|rule| rule.code == scenario.code).unwrap();
        for finding in scenario.read().findings(|_| true) {
            assert!(
                finding.severity >= rule.severity,
                "{}",
                scenario.folder.display()
            );
        }
    }
}

#[test]
fn json_round_trips() {
    for scenario in Scenario::all() {
        let read = scenario.read();
        let findings = read.findings(|_| true);
        let sources = read.input().sources();
        let value = json_with_sources(&findings, Sources::new(&sources));
        let back: Vec<Diagnostic> = serde_json::from_value(value).unwrap();
        assert_eq!(back, findings, "{}", scenario.folder.display());
    }
}

/// The findings, and the texts after all fixes.
fn fixed(scenario: &Scenario) -> (Vec<Diagnostic>, Vec<(String, String)>) {
    let read = scenario.read();
    let findings = read.findings(|_| true);
    let sources = read.input().sources();
    let original = |name: &str| {
        let text = scenario.texts.iter().find(|(other, _)| other == name);
        text.map(|(_, text)| text.as_str())
    };
    let changed = fix(&findings, Sources::new(&sources), original);
    let texts = scenario.texts.iter().map(|(name, text)| {
        let new = changed.iter().find(|fixed| fixed.file == *name);
        (
            name.clone(),
            new.map_or(text.clone(), |fixed| fixed.text.clone()),
        )
    });
    (findings, texts.collect())
}

#[test]
fn a_fix_removes_its_finding() {
    let mut fixes = 0;
    for scenario in Scenario::all() {
        let (before, texts) = fixed(&scenario);
        let fixable = before.iter().filter(|d| d.fix.is_some()).count();
        let after = read(&texts).findings(|_| true);
        let folder = scenario.folder.display();
        assert!(
            after.len() <= before.len() - fixable,
            "{folder}: {after:#?}\n{texts:#?}"
        );
        fixes += fixable;
    }
    assert!(fixes > 20, "only {fixes} findings have a fix");
}

#[test]
fn fixes_keep_comments_and_other_lines() {
    let text = "# net\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: f}  # keep\ndata:\n  net-conf.json: |\n    {\"Network\": \"10.244.0.0/16\",\n     \"Backend\": {\"Type\": \"vxlan\", \"VNI\": 1, \"Port\": 8472}}\n";
    let scenario = Scenario {
        folder: PathBuf::new(),
        code: String::new(),
        texts: vec![("flannel.yaml".to_owned(), text.to_owned())],
    };
    let (_, texts) = fixed(&scenario);
    assert_eq!(
        texts[0].1,
        text.replace("\"VNI\": 1", "\"VNI\": 4096")
            .replace("8472", "4789")
    );
}

#[test]
fn rules_have_all_three_severities() {
    let severities: BTreeSet<_> = rules().map(|rule| rule.severity).collect();
    assert_eq!(
        severities,
        BTreeSet::from([Severity::Error, Severity::Warning, Severity::Note])
    );
}
