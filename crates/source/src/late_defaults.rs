//! Defaults that are no value of the document: others decide, later.

use casement_diag::FieldPath;
use casement_spec::{Cluster, OsFamily, defaults};

use crate::source_map::SourceMap;

/// A comment that says what holds for each such field that the file does not
/// have; empty if it has all of them.
pub(crate) fn comment(cluster: &Cluster, map: &SourceMap) -> String {
    let spec = FieldPath::root().field("spec");
    let open: Vec<(String, String)> = fields(cluster)
        .into_iter()
        .filter(|((part, rest), _)| {
            let path = rest
                .split('.')
                .fold(spec.field(*part), |path, name| path.field(name));
            !map.has(&path)
        })
        .map(|((part, rest), what)| (format!("{part}.{rest}"), what))
        .collect();
    if open.is_empty() {
        return String::new();
    }
    let width = open.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines = open
        .iter()
        .map(|(name, what)| format!("#   {name:width$}  {what}\n"));
    format!(
        "# Decided later, unless the file says it:\n{}",
        lines.collect::<String>()
    )
}

type Open = ((&'static str, &'static str), String);

fn fields(cluster: &Cluster) -> Vec<Open> {
    let kubernetes = &cluster.spec.kubernetes;
    let exists = cluster.spec.existing.is_some();
    let found = |otherwise: String| match exists {
        true => "the cluster's own".to_owned(),
        false => otherwise,
    };
    let user = |os| defaults::user(os);
    let users = format!(
        "{} on Windows, {} on Linux",
        user(OsFamily::Windows),
        user(OsFamily::Linux)
    );
    let first = "the first control-plane host's".to_owned();
    let text = str::to_owned;
    vec![
        (("kubernetes", "endpoint"), found(first)),
        (
            ("kubernetes", "clusterDomain"),
            found(kubernetes.domain().to_string()),
        ),
        (("kubernetes", "dnsIp"), found(kubernetes.dns().to_string())),
        (("network", "mtu"), text("what the hosts' own leaves")),
        (
            ("network", "interface"),
            text("the one with the host's address"),
        ),
        (("access", "ssh.user"), users),
        (
            ("runtime", "version"),
            text("one that fits the version of Kubernetes"),
        ),
        (
            ("artifacts", "cache"),
            text("casement in the user's cache folder"),
        ),
        (
            ("images", "pause"),
            text("one that fits the version of Kubernetes"),
        ),
    ]
}
