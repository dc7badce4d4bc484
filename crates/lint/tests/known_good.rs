//! Valid input has no findings: the directories of `scenarios/known-good/`, the
//! examples, and every supported combination of Kubernetes, Windows and mode.

#![allow(clippy::unwrap_used, reason = "a failed unwrap reports its location")]

use std::fs;
use std::path::{Path, PathBuf};

use casement_catalog::{Minor, WindowsSupport, windows_support};
use casement_diag::{Sources, Style, render_with_sources};
use casement_lint::{Report, Text, Texts};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn gather(folder: &Path, prefix: &str, texts: &mut Texts) {
    let entries = fs::read_dir(folder).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let name = format!("{prefix}{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            gather(&path, &format!("{name}/"), texts);
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let text = Text { name, bytes };
        match text.name.as_str() {
            "cluster.yaml" => texts.spec = Some(text),
            _ => texts.files.push(text),
        }
    }
}

/// The rendered findings, empty without any.
fn rendered(texts: &Texts) -> String {
    let report = Report::new(texts);
    let sources = report.sources();
    render_with_sources(&report.findings, Sources::new(&sources), Style::Plain)
}

#[test]
fn known_good_sets_have_no_findings() {
    let folder = root().join("scenarios/known-good");
    let mut wrong = Vec::new();
    let mut number = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let mut texts = Texts::default();
        let path = entry.unwrap().path();
        gather(&path, "", &mut texts);
        let findings = rendered(&texts);
        if !findings.is_empty() {
            wrong.push(format!("{}:\n{findings}", path.display()));
        }
        number += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(number >= 20, "only {number} sets");
}

#[test]
fn examples_have_no_findings() {
    for entry in fs::read_dir(root().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "yaml") {
            let spec = Text {
                name: "cluster.yaml".to_owned(),
                bytes: fs::read(&path).unwrap(),
            };
            let texts = Texts {
                spec: Some(spec),
                files: Vec::new(),
            };
            assert_eq!(rendered(&texts), "", "{}", path.display());
        }
    }
}

#[test]
fn only_supported_windows_releases_have_no_findings() {
    let systems = [
        (17763, "windows-2019"),
        (20348, "windows-2022"),
        (26100, "windows-2025"),
    ];
    let modes = [
        "flannel-overlay",
        "flannel-host-gw",
        "l3-routes",
        "calico-vxlan",
    ];
    let mut number = 0;
    for minor in Minor::covered() {
        for (build, os) in systems {
            let supported = windows_support(minor, build) == WindowsSupport::Supported;
            for mode in modes {
                let spec = format!(
                    "apiVersion: casement.dev/v1alpha1\nkind: Cluster\nmetadata: {{name: shop}}\nspec:\n  \
                     kubernetes: {{version: {minor}.20}}\n  existing: {{kubeconfig: ./admin.conf}}\n  \
                     network: {{mode: {mode}}}\n  hosts:\n    - {{name: win1, address: 10.3.0.4, os: {os}}}\n"
                );
                let spec = Text {
                    name: "cluster.yaml".to_owned(),
                    bytes: spec.into_bytes(),
                };
                let texts = Texts {
                    spec: Some(spec),
                    files: Vec::new(),
                };
                let findings = rendered(&texts);
                assert_eq!(
                    findings.is_empty(),
                    supported,
                    "{minor} {os} {mode}: {findings}"
                );
                number += 1;
            }
        }
    }
    assert_eq!(number, 16 * 3 * 4);
}
