//! Drafts decoded as clusters.

use casement_diag::{Severity, Style, render_all};
use casement_source::import::{from_script_args, starter};
use casement_source::load;
use casement_spec::{Cluster, Role};

use super::{draft, folders, root};

/// The cluster of a draft without errors.
pub fn cluster(text: &str) -> Cluster {
    let loaded = load("cluster.yaml", text);
    let findings = render_all(&loaded.diagnostics, Some(&loaded.map), Style::Plain);
    loaded
        .cluster
        .unwrap_or_else(|| panic!("{findings}\n{text}"))
}

pub fn findings(text: &str) -> String {
    let loaded = load("cluster.yaml", text);
    match render_all(&loaded.diagnostics, Some(&loaded.map), Style::Plain) {
        text if text.is_empty() => "no findings\n".to_owned(),
        text => text,
    }
}

#[test]
fn drafts_are_valid_unless_the_version_is_unsupported() {
    for folder in folders() {
        let (draft, _) = draft(&folder);
        let loaded = load("cluster.yaml", &draft.text);
        let old = folder.ends_with("kubernetes-1.11");
        assert_eq!(loaded.cluster.is_none(), old, "{}", findings(&draft.text));
    }
    cluster(&starter().text);
    cluster(&from_script_args("").unwrap().text);
}

#[test]
fn starter_file_has_no_findings() {
    let loaded = load("cluster.yaml", &starter().text);
    let worst = loaded.diagnostics.iter().map(|finding| finding.severity);
    assert!(
        worst.clone().all(|severity| severity == Severity::Note),
        "{:?}",
        loaded.diagnostics
    );
}

#[test]
fn kubernetes_for_windows_keeps_its_roles_and_addresses() {
    let (draft, _) = draft(&root().join("kubernetes-for-windows"));
    let cluster = cluster(&draft.text);
    let of = |role: Role, windows: bool| {
        let hosts = cluster.spec.hosts.iter();
        let hosts = hosts.filter(|host| host.has(role) && host.os.is_windows() == windows);
        let hosts = hosts.map(|host| format!("{} {}", host.name, host.address));
        hosts.collect::<Vec<_>>()
    };
    assert_eq!(
        of(Role::ControlPlane, false),
        ["ubuntu01 10.3.0.1", "ubuntu02 10.3.0.2"]
    );
    assert_eq!(
        of(Role::Etcd, false),
        [
            "ubuntu01 10.3.0.1",
            "ubuntu02 10.3.0.2",
            "ubuntu03 10.3.0.3"
        ]
    );
    assert_eq!(
        of(Role::Worker, false),
        ["ubuntu02 10.3.0.2", "ubuntu03 10.3.0.3"]
    );
    assert_eq!(
        of(Role::Worker, true),
        ["windows01 10.3.0.4", "windows02 10.3.0.5"]
    );
    assert_eq!(cluster.spec.hosts.len(), 5);
    assert_eq!(
        cluster.spec.kubernetes.pod_cidr.to_string(),
        "10.233.64.0/18"
    );
}
