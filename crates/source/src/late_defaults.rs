//! Defaults that are determined at plan time, not in the document.

use casement_diag::FieldPath;
use casement_spec::{Cluster, OsFamily, defaults};

use crate::source_map::SourceMap;

/// A comment that lists the ones that the file does not set.
pub(crate) fn comment(cluster: &Cluster, map: &SourceMap) -> String {
    let spec = FieldPath::root().field("spec");
    let unset: Vec<(String, String)> = fields(cluster)
        .into_iter()
        .filter(|((part, rest), _)| {
            let path = rest
                .split('.')
                .fold(spec.field(*part), |path, name| path.field(name));
            !map.has(&path)
        })
        .map(|((part, rest), what)| (format!("{part}.{rest}"), what))
        .collect();
    if unset.is_empty() {
        return String::new();
    }
    let width = unset.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines = unset
        .iter()
        .map(|(name, what)| format!("#   {name:width$}  {what}\n"));
    format!(
        "# Determined later unless set:\n{}",
        lines.collect::<String>()
    )
}

type LateDefault = ((&'static str, &'static str), String);

fn fields(cluster: &Cluster) -> Vec<LateDefault> {
    let kubernetes = &cluster.spec.kubernetes;
    let exists = cluster.spec.existing.is_some();
    let existing_or = |otherwise: String| match exists {
        true => "from the existing cluster".to_owned(),
        false => otherwise,
    };
    let user = |os| defaults::user(os);
    let users = format!(
        "{} on Windows, {} on Linux",
        user(OsFamily::Windows),
        user(OsFamily::Linux)
    );
    let first = "address of the first control-plane host".to_owned();
    let text = str::to_owned;
    vec![
        (("kubernetes", "endpoint"), existing_or(first)),
        (
            ("kubernetes", "clusterDomain"),
            existing_or(kubernetes.domain().to_string()),
        ),
        (
            ("kubernetes", "dnsIp"),
            existing_or(kubernetes.dns().to_string()),
        ),
        (("network", "mtu"), text("from the MTU of the hosts")),
        (
            ("network", "interface"),
            text("the interface with the host address"),
        ),
        (("access", "ssh.user"), users),
        (
            ("runtime", "version"),
            text("matches the Kubernetes version"),
        ),
        (
            ("artifacts", "cache"),
            text("casement in the user cache directory"),
        ),
        (("images", "pause"), text("matches the Kubernetes version")),
    ]
}
