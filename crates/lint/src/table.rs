//! The table of rules for `docs/lints/README.md`.

use std::fmt::Write;

use casement_diag::Severity;

use crate::observed::OBSERVED;
use crate::reading::READING;
use crate::rule::Reads;
use crate::rules::rules;

/// The document, ready to be written.
pub fn table() -> String {
    let mut text = String::from(HEAD);
    for rule in rules() {
        let (spec, files) = match rule.reads {
            Reads::Spec => ("yes", ""),
            Reads::SpecFirst => ("yes", "if given"),
            Reads::Files => ("", "yes"),
            Reads::FilesFirst => ("if given", "yes"),
            Reads::Either => ("either", "either"),
            Reads::Together => ("yes", "yes"),
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
    text += READING_HEAD;
    for reading in READING {
        let line = [reading.title, reading.answers].join(" | ");
        let _ = writeln!(text, "| [{0}]({0}.md) | {line} |", reading.code);
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
prints a rule's page. *Either* means that the rule looks at whichever is given.

The last column says what a rule answers: entries of the list of known failures
(`L…`), constants that must agree between parts of a cluster (`K…`: 1 VNI and port,
2 name of the HNS network, 5 MAC prefix, 6 MTU, 7 the runtime's pipe, 8 kubelet
settings, 9 removed flags and gates, 10 containerd's file), facts about versions
and documents (`A…`, `C…`), and checks that other products have (`I…`).

This file is written by a test: `BLESS=1 cargo test -p casement-lint --test pages`.

| code | what it says | severity | (a) cluster file | (b) files | answers |
| --- | --- | --- | --- | --- | --- |
";

const READING_HEAD: &str = "
## (a) What is found while the cluster file is read

These are errors, but for CAS-HOST-005, which is a warning. They are found in
files that are not whole, too; the rules above run when there are none.

| code | what it says | answers |
| --- | --- | --- |
";

const OBSERVED_HEAD: &str = "
## (c) What only observed state can tell

Not checked here and not guessed at; `casement doctor` looks at it.

| answers | needs |
| --- | --- |
";
