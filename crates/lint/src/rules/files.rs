//! File format and encoding.

use casement_diag::{Diagnostic, FieldPath, Part, Severity, Source};

use crate::context::Context;
use crate::rule::{Rule, rule};

pub(crate) const RULES: &[Rule] = &[
    rule!("CAS-FILE-010", Error, Files, "L027", unreadable),
    rule!("CAS-FILE-011", Note, Files, "-", unknown),
    rule!("CAS-FILE-012", Error, Files, "L027", byte_order_mark),
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
            Diagnostic::new(
                Severity::Note,
                path,
                "the type of this file is not recognized, so it is not checked",
            )
            .in_file(document.file())
            .help(
                "supported are Kubernetes objects, CNI configurations, flannel's net-conf.json, \
                     containerd's config.toml, and kubelet, kube-proxy and kubeadm configurations",
            )
        })
        .collect()
}

fn byte_order_mark(context: &Context<'_>) -> Vec<Diagnostic> {
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
                "the file starts with a byte order mark (EF BB BF)",
            )
            .in_file(file.name())
            .at(Part::Bytes(0..3))
            .note("flannel and the CNI plugins read JSON, which must not start with one")
            .help("save it as UTF-8 without BOM; in PowerShell use `Out-File -Encoding ascii`")
            .replace("remove it", "")
        })
        .collect()
}
