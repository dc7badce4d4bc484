//! Every folder of `scenarios/lints/CODE/`: files, and what lint says about them.
//!
//! A folder `fails…` has findings of its rule and of no other, a folder
//! `passes…` has none. `BLESS=1 cargo test -p casement-lint --test scenarios`
//! writes what is said now; the difference is for a person to read.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use casement_diag::{Diagnostic, Severity, Sources, Style, json_among, render_among};
use casement_lint::{Input, Rule, SpecFile, fix, last_line, lint_by, rules};
use casement_source::foreign::{self, Foreign};
use casement_source::{Loaded, load};

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
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/lints");
        let mut all = Vec::new();
        for code in folders(&root) {
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

    fn findings(&self, wanted: impl Fn(&Rule) -> bool) -> Vec<Diagnostic> {
        lint_by(&self.input(), wanted)
    }

    fn shown(&self, wanted: impl Fn(&Rule) -> bool) -> String {
        let findings = self.findings(wanted);
        let sources = self.input().sources();
        let text = render_among(&findings, Sources::new(&sources), Style::Plain);
        match last_line(&findings) {
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
fn every_scenario_says_what_is_expected() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut wrong = Vec::new();
    for scenario in Scenario::all() {
        let says = scenario.read().shown(|_| true);
        if bless {
            fs::write(scenario.folder.join("expected.txt"), &says).unwrap();
        }
        let expected = scenario.expected();
        if expected != says {
            let folder = scenario.folder.display();
            wrong.push(format!(
                "{folder}: expected\n{expected}\nbut it says\n{says}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn every_rule_has_a_scenario_that_fails_and_one_that_passes() {
    let all = Scenario::all();
    let mut lacking = Vec::new();
    for rule in rules() {
        for fails in [true, false] {
            if !all
                .iter()
                .any(|s| s.code == rule.code && s.fails() == fails)
            {
                lacking.push(format!(
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
    assert!(lacking.is_empty(), "{}", lacking.join("\n"));
}

#[test]
fn a_scenario_has_findings_of_its_own_rule_or_none() {
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
fn switching_off_a_rule_turns_exactly_its_own_scenarios_red() {
    let all = Scenario::all();
    let read: Vec<_> = all
        .iter()
        .map(|scenario| {
            let read = scenario.read();
            assert_eq!(read.shown(|_| true), scenario.expected());
            let green = read.findings(|_| true);
            (scenario, read, green)
        })
        .collect();
    for off in rules() {
        for (scenario, read, green) in &read {
            let red = read.findings(|rule| rule.code != off.code) != *green;
            let own = scenario.code == off.code && scenario.fails();
            let folder = scenario.folder.display();
            assert_eq!(red, own, "without {}: {folder}", off.code);
        }
    }
}

#[test]
fn every_finding_has_a_place_a_remedy_and_fits_the_screen() {
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
                let place = sources
                    .get(file)
                    .and_then(|source| source.range(&label.path, &label.part));
                assert!(place.is_some(), "{folder}: {label:?}");
            }
        }
        let shown = read.shown(|_| true);
        assert!(
            shown.lines().count() <= 60,
            "{}: more than a screen",
            scenario.folder.display()
        );
    }
}

#[test]
fn severities_are_those_of_the_rule_or_milder() {
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
fn json_says_the_same() {
    for scenario in Scenario::all() {
        let read = scenario.read();
        let findings = read.findings(|_| true);
        let sources = read.input().sources();
        let value = json_among(&findings, Sources::new(&sources));
        let back: Vec<Diagnostic> = serde_json::from_value(value).unwrap();
        assert_eq!(back, findings, "{}", scenario.folder.display());
    }
}

/// The texts after every fix.
fn mended(scenario: &Scenario) -> (Vec<Diagnostic>, Vec<(String, String)>) {
    let read = scenario.read();
    let findings = read.findings(|_| true);
    let sources = read.input().sources();
    let original = |name: &str| {
        let text = scenario.texts.iter().find(|(other, _)| other == name);
        text.map(|(_, text)| text.as_str())
    };
    let fixed = fix(&findings, Sources::new(&sources), original);
    let texts = scenario.texts.iter().map(|(name, text)| {
        let new = fixed.iter().find(|fixed| fixed.file == *name);
        (
            name.clone(),
            new.map_or(text.clone(), |fixed| fixed.text.clone()),
        )
    });
    (findings, texts.collect())
}

#[test]
fn what_a_fix_leaves_behind_lacks_its_finding() {
    let mut fixes = 0;
    for scenario in Scenario::all() {
        let (before, texts) = mended(&scenario);
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
fn fixes_keep_comments_and_every_other_line() {
    let text = "# net\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: f}  # keep\ndata:\n  net-conf.json: |\n    {\"Network\": \"10.244.0.0/16\",\n     \"Backend\": {\"Type\": \"vxlan\", \"VNI\": 1, \"Port\": 8472}}\n";
    let scenario = Scenario {
        folder: PathBuf::new(),
        code: String::new(),
        texts: vec![("flannel.yaml".to_owned(), text.to_owned())],
    };
    let (_, texts) = mended(&scenario);
    assert_eq!(
        texts[0].1,
        text.replace("\"VNI\": 1", "\"VNI\": 4096")
            .replace("8472", "4789")
    );
}

#[test]
fn errors_and_warnings_are_told_apart() {
    let severities: BTreeSet<_> = rules().map(|rule| rule.severity).collect();
    assert_eq!(
        severities,
        BTreeSet::from([Severity::Error, Severity::Warning, Severity::Note])
    );
}
