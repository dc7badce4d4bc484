//! The documents of every mode, from the spec alone.
//!
//! `BLESS=1` writes the goldens anew.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on has failed"
)]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use casement_plan::offline::documents;
use casement_plan::{ClusterFacts, Inputs};
use casement_resource::{Resource, Stage};
use casement_spec::{Cluster, DefenderPolicy, JoinMethod, Named, Network, NetworkMode, Program};

const SPEC: &str = "
apiVersion: casement.dev/v1alpha1
kind: Cluster
metadata: {name: shop}
spec:
  kubernetes: {version: 1.36.3}
  existing: {kubeconfig: ./admin.conf}
  network: {mode: l3-routes}
  hosts:
    - {name: lin1, address: 10.3.0.2, os: linux, roles: [worker], managed: true}
    - {name: win1, address: 10.3.0.4, os: windows-2022, roles: [worker]}
";

fn cluster(mode: NetworkMode) -> Cluster {
    let loaded = casement_source::load("cluster.yaml", SPEC);
    let mut cluster = loaded
        .cluster
        .unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
    cluster.spec.network = Network::of(mode);
    cluster
}

fn listed(cluster: &Cluster, facts: &ClusterFacts) -> String {
    let mut text = String::new();
    for plan in documents(cluster, &Inputs::default(), facts).unwrap() {
        for document in &plan.documents {
            writeln!(text, "{} {:?}", plan.host.name, document.stage()).unwrap();
            for step in document.steps() {
                let after: Vec<&str> = step.after.iter().map(|id| id.as_str()).collect();
                let after = after.join(" ");
                let what = step.resource.identity();
                writeln!(text, "  {}: {what} [{after}]", step.id).unwrap();
            }
        }
        writeln!(text, "{} open {:?}", plan.host.name, plan.open).unwrap();
        writeln!(text, "{} programs {:?}", plan.host.name, plan.open_programs).unwrap();
    }
    text
}

#[test]
fn every_mode_has_documents_for_windows_and_managed_linux_hosts() {
    for mode in NetworkMode::ALL {
        for existing in [true, false] {
            let mut cluster = cluster(*mode);
            if !existing {
                cluster.spec.existing = None;
            }
            let facts = ClusterFacts::assumed(&cluster).unwrap();
            let text = listed(&cluster, &facts);
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/modes");
            let name = if existing { "existing" } else { "new" };
            let path = folder.join(format!("{mode}-{name}.txt"));
            if std::env::var_os("BLESS").is_some() {
                fs::create_dir_all(&folder).unwrap();
                fs::write(&path, &text).unwrap();
            }
            let golden = fs::read_to_string(&path).unwrap_or_default();
            assert_eq!(
                text,
                golden,
                "{} differs; BLESS=1 writes it",
                path.display()
            );
        }
    }
}

#[test]
fn what_only_the_control_plane_knows_stays_open() {
    for mode in NetworkMode::ALL {
        let cluster = cluster(*mode);
        let facts = ClusterFacts::of_spec(&cluster);
        let plans = documents(&cluster, &Inputs::default(), &facts).unwrap();
        assert_eq!(plans[1].open, [Stage::Network], "{mode}");
        assert!(plans[1].open_programs.contains(&Program::Kubelet), "{mode}");
    }
}

#[test]
fn a_plain_bootstrap_is_planned_without_a_join() {
    let mut cluster = cluster(NetworkMode::L3Routes);
    cluster.spec.join.method = JoinMethod::Bootstrap;
    let facts = ClusterFacts::assumed(&cluster).unwrap();
    let plans = documents(&cluster, &Inputs::default(), &facts).unwrap();
    assert_eq!(plans[1].open, [Stage::Join]);
    let prepare = &plans[1].documents[0];
    assert!(
        prepare
            .steps()
            .iter()
            .any(|step| step.id.as_str() == "kubelet-config")
    );
}

#[test]
fn a_defender_that_is_kept_is_left_alone() {
    let mut cluster = cluster(NetworkMode::FlannelOverlay);
    let facts = ClusterFacts::assumed(&cluster).unwrap();
    let exclusions = |cluster: &Cluster| {
        let plans = documents(cluster, &Inputs::default(), &facts).unwrap();
        let steps = plans[1].documents[0].steps().iter();
        let is_exclusion = |resource: &Resource| matches!(resource, Resource::DefenderExclusion(_));
        steps.filter(|step| is_exclusion(&step.resource)).count()
    };
    assert!(exclusions(&cluster) > 0);
    cluster.spec.windows.defender = DefenderPolicy::Keep;
    assert_eq!(exclusions(&cluster), 0);
}
