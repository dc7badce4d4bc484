//! Generates `docs/lints.md`.

use std::fmt::Write;

use casement_diag::Severity;

use crate::load_codes::LOAD_CODES;
use crate::rule::Reads;
use crate::rules::rules;
use crate::runtime_only::RUNTIME_ONLY;

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
        let line = [rule.entry.title, severity, spec, files, rule.covers].join(" | ");
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| [{0}](codes/{0}.md) | {line} |", rule.code);
    }
    text += LOAD_HEAD;
    for load in LOAD_CODES {
        let line = [load.entry.title, load.covers].join(" | ");
        let _ = writeln!(text, "| [{0}](codes/{0}.md) | {line} |", load.entry.code);
    }
    text += RUNTIME_HEAD;
    for failure in RUNTIME_ONLY {
        let _ = writeln!(text, "| {} | {} |", failure.covers, failure.needs);
    }
    text
}

const HEAD: &str = "\
# Lint rules

`casement lint` checks (a) the cluster file and (b) files of other tools: Kubernetes
manifests, CNI configurations, kubelet, kube-proxy and kubeadm configurations,
flannel's `net-conf.json` and containerd's `config.toml`, also if they are embedded
in ConfigMaps. `casement explain CODE` prints the page of a rule. *Either* means
that the rule checks whichever is given.

The last column lists what a rule covers: entries of the list of known failures
(`L…`), constants that must agree between parts of a cluster (`K…`: 1 VNI and port,
2 name of the HNS network, 5 MAC prefix, 6 MTU, 7 the pipe of the runtime, 8 kubelet
settings, 9 removed flags and gates, 10 containerd's configuration), facts about
versions and documents (`A…`, `C…`), and checks of other products (`I…`).

A test generates this file: `BLESS=1 cargo test -p casement-lint --test pages`.

| code | finding | severity | (a) cluster file | (b) files | covers |
| --- | --- | --- | --- | --- | --- |
";

const LOAD_HEAD: &str = "
## (a) Found while loading the cluster file

These are errors, except CAS-HOST-005, which is a warning. They are also reported
for incomplete files; the rules above run only if there are no errors.

| code | finding | covers |
| --- | --- | --- |
";

const RUNTIME_HEAD: &str = "
## (c) Found only in a running cluster

Not checked by lint; `casement doctor` inspects it.

| covers | needs |
| --- | --- |
";
