//! Files themselves.

use casement_diag::{Diagnostic, FieldPath, Part, Severity, Source};

use crate::context::Context;
use crate::rule::{Rule, rule};

pub(crate) const RULES: &[Rule] = &[
    rule!(
        "CAS-FILE-010",
        Error,
        Files,
        "L027",
        "a file cannot be read",
        unreadable
    ),
    rule!(
        "CAS-FILE-011",
        Note,
        Files,
        "-",
        "nobody knows what a file is",
        unknown
    ),
    rule!(
        "CAS-FILE-012",
        Error,
        Files,
        "L027",
        "a file begins with a byte order mark",
        marked
    ),
];

fn unreadable(context: &Context<'_>) -> Vec<Diagnostic> {
    let files = context.files.iter();
    files.flat_map(|file| file.diagnostics().to_vec()).collect()
}

fn unknown(context: &Context<'_>) -> Vec<Diagnostic> {
    let documents = context.unknown.iter();
    documents
        .map(|document| {
            let path = FieldPath::root();
            Diagnostic::new(Severity::Note, path, "this file is nothing that lint knows: it is not looked at")
                .within(document.file())
                .help(
                    "lint reads Kubernetes objects, CNI configurations, flannel's net-conf.json, \
                     containerd's config.toml, and configurations of kubelet, kube-proxy and kubeadm",
                )
        })
        .collect()
}

fn marked(context: &Context<'_>) -> Vec<Diagnostic> {
    let json = |name: &str| {
        [".json", ".conf", ".conflist"]
            .iter()
            .any(|end| name.ends_with(end))
    };
    let files = context.files.iter().filter(|file| json(file.name()));
    files
        .filter(|file| file.map().text().starts_with('\u{feff}'))
        .map(|file| {
            Diagnostic::error(
                FieldPath::root(),
                "the file begins with a byte order mark (EF BB BF)",
            )
            .within(file.name())
            .at(Part::Bytes(0..3))
            .note("flannel and the CNI plugins read JSON, and JSON must not begin with one")
            .help("save it as UTF-8 without BOM; PowerShell's `Out-File` needs `-Encoding ascii`")
            .replace("remove it", "")
        })
        .collect()
}
