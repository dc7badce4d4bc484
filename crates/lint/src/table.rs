//! The table of rules for `docs/lints/README.md`.

use std::fmt::Write;

use casement_diag::Severity;

use crate::observed::OBSERVED;
use crate::rule::Reads;
use crate::rules::rules;

/// The document, ready to be written.
pub fn table() -> String {
    let mut text = String::from(HEAD);
    for rule in rules() {
        let (spec, files) = match rule.reads {
            Reads::Spec => ("yes", ""),
            Reads::Files => ("", "yes"),
            Reads::Both => ("if given", "yes"),
        };
        let severity = match rule.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        let line = [rule.title, severity, spec, files, rule.answers].join(" | ");
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| [{0}]({0}.md) | {line} |", rule.code);
    }
    text += OBSERVED_HEAD;
    for observed in OBSERVED {
        let _ = writeln!(text, "| {} | {} |", observed.answers, observed.needs);
    }
    text
}

const HEAD: &str = "\
# Lint rules

`casement lint` reads (a) the cluster file and (b) files of other tools that are
given by path: Kubernetes manifests, CNI configurations, kubelet and kube-proxy
configurations, flannel's `net-conf.json`, containerd's `config.toml`, kubeadm's
configurations; also where they are texts in ConfigMaps. `casement explain CODE`
prints a rule's page. The last column names the entries of the list of known
failures (`L…`), of the constants that must agree (`C…`) and of the checks that
others have (`I…`) which a rule answers.

This file is written by a test: `BLESS=1 cargo test -p casement-lint --test pages`.

| code | what it says | severity | (a) cluster file | (b) files | answers |
| --- | --- | --- | --- | --- | --- |
";

const OBSERVED_HEAD: &str = "
## (c) What only observed state can tell

Not checked here and not guessed at; `casement doctor` looks at it.

| answers | needs |
| --- | --- |
";
