//! The documents of every mode, from the spec alone.
//!
//! `BLESS=1` writes the golden files.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests fail by panicking"
)]

use std::fmt::Write as _;

use casement_golden::Goldens;
use casement_plan::offline::documents;
use casement_plan::{ClusterFacts, Inputs};
use casement_resource::{Blob, Resource, Stage};
use casement_spec::{
    Cluster, DefenderPolicy, HostOs, JoinMethod, Named, Network, NetworkMode, Program,
    RebootPolicy, RuntimeKind,
};

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
        writeln!(text, "{} open {:?}", plan.host.name, plan.deferred).unwrap();
        writeln!(
            text,
            "{} programs {:?}",
            plan.host.name, plan.missing_programs
        )
        .unwrap();
    }
    text
}

/// Every mode has documents for Windows hosts and for managed Linux hosts.
fn add_modes(goldens: &mut Goldens) {
    for mode in NetworkMode::ALL {
        for existing in [true, false] {
            let mut cluster = cluster(*mode);
            if !existing {
                cluster.spec.existing = None;
            }
            let facts = ClusterFacts::assumed(&cluster).unwrap();
            let text = listed(&cluster, &facts);
            let name = if existing { "existing" } else { "new" };
            goldens.add(format!("{mode}-{name}.txt"), text);
        }
    }
}

#[test]
fn documents_match_golden_files() {
    let mut goldens = Goldens::in_folder("tests/golden/modes");
    add_modes(&mut goldens);
    for (version, os) in DOCKER {
        let cluster = with_docker(version, os);
        let facts = ClusterFacts::assumed(&cluster).unwrap();
        let file = format!("docker-{version}-{os}.txt");
        goldens.add(file, listed(&cluster, &facts));
    }
    goldens.assert();
}

/// Up to 1.23 the kubelet speaks to Docker itself; old Windows makes its own
/// pause image.
const DOCKER: [(&str, HostOs); 3] = [
    ("1.23.0", HostOs::Windows2019),
    ("1.24.0", HostOs::Windows2019),
    ("1.23.0", HostOs::Windows1803),
];

fn with_docker(version: &str, os: HostOs) -> Cluster {
    let mut cluster = cluster(NetworkMode::FlannelHostGw);
    cluster.spec.kubernetes.version = version.parse().unwrap();
    cluster.spec.runtime.kind = RuntimeKind::Docker;
    cluster.spec.hosts[1].os = os;
    let image = "mcr.microsoft.com/windows/servercore:ltsc2019";
    cluster.spec.images.prepull = vec![image.parse().unwrap()];
    cluster
}

#[test]
fn docker_is_asked_for_and_not_made() {
    for (version, os) in DOCKER {
        let cluster = with_docker(version, os);
        let facts = ClusterFacts::assumed(&cluster).unwrap();
        let plans = documents(&cluster, &Inputs::default(), &facts).unwrap();
        let mut steps = plans[1].documents[0].steps().iter();
        let daemon = steps.find(|step| step.id.as_str() == "service-docker");
        let Resource::Wait(wait) = &daemon.unwrap().resource else {
            panic!("Docker is somebody else's");
        };
        assert!(wait.help.as_ref().unwrap().contains("install Docker"));
    }
}

#[test]
fn what_windows_itself_should_be_comes_before_the_one_reboot() {
    let mut cluster = cluster(NetworkMode::FlannelOverlay);
    cluster.spec.hosts[1].hostname = Some("front".parse().unwrap());
    cluster.spec.windows.time_servers = vec!["time.example".parse().unwrap()];
    cluster.spec.windows.updates = vec!["KB5012637".parse().unwrap()];
    cluster.spec.windows.reboot = RebootPolicy::Never;
    let facts = ClusterFacts::assumed(&cluster).unwrap();
    let plans = documents(&cluster, &Inputs::default(), &facts).unwrap();
    let prepare = &plans[1].documents[0];
    let step = |id: &str| prepare.step(&id.parse().unwrap()).unwrap();
    let Resource::Reboot(reboot) = &step("reboot").resource else {
        panic!("it is no reboot");
    };
    assert!(!reboot.allowed);
    let reason = "the feature Containers and the host name and KB5012637";
    assert_eq!(reboot.reason, reason);
    let before: Vec<&str> = step("reboot").after.iter().map(|id| id.as_str()).collect();
    assert_eq!(
        before,
        ["feature-containers", "hostname", "update-kb5012637"]
    );
    for runtime in ["service-containerd", "hns-external"] {
        assert!(step(runtime).after.contains(&"reboot".parse().unwrap()));
    }
    assert!(matches!(step("time").resource, Resource::TimeSync(_)));
    // An overlay has direct server return: its load balancers keep no ports.
    assert!(prepare.step(&"ports-tcp".parse().unwrap()).is_none());
}

#[test]
fn a_package_of_an_update_is_brought_first() {
    let mut cluster = cluster(NetworkMode::L3Routes);
    let file = "./windows10.0-kb5044281-x64.msu";
    cluster.spec.windows.updates = vec![file.parse().unwrap()];
    let facts = ClusterFacts::assumed(&cluster).unwrap();
    let blob = Blob::of(b"msu");
    let inputs = Inputs {
        updates: [(file.to_owned(), blob)].into(),
        ..Inputs::default()
    };
    let plans = documents(&cluster, &inputs, &facts).unwrap();
    let prepare = &plans[1].documents[0];
    let update = prepare.step(&"update-kb5044281".parse().unwrap()).unwrap();
    let Resource::WindowsUpdate(wanted) = &update.resource else {
        panic!("it is no update");
    };
    assert_eq!(wanted.floors.len(), 1);
    let place = r"C:\k\updates\windows10.0-kb5044281-x64.msu";
    assert_eq!(wanted.package.as_ref().unwrap().as_str(), place);
    assert_eq!(update.after[0].as_str(), "bin-update-kb5044281");
}

#[test]
fn what_only_the_control_plane_knows_stays_open() {
    for mode in NetworkMode::ALL {
        let cluster = cluster(*mode);
        let facts = ClusterFacts::of_spec(&cluster);
        let plans = documents(&cluster, &Inputs::default(), &facts).unwrap();
        assert_eq!(plans[1].deferred, [Stage::Network], "{mode}");
        assert!(
            plans[1].missing_programs.contains(&Program::Kubelet),
            "{mode}"
        );
    }
}

#[test]
fn a_plain_bootstrap_is_planned_without_a_join() {
    let mut cluster = cluster(NetworkMode::L3Routes);
    cluster.spec.join.method = JoinMethod::Bootstrap;
    let facts = ClusterFacts::assumed(&cluster).unwrap();
    let plans = documents(&cluster, &Inputs::default(), &facts).unwrap();
    assert_eq!(plans[1].deferred, [Stage::Join]);
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

#[test]
fn an_image_is_replaced_by_the_one_that_the_spec_wants_in_its_place() {
    let mut cluster = cluster(NetworkMode::L3Routes);
    let images = &mut cluster.spec.images;
    images.prepull = vec!["mcr.example/base:1".parse().unwrap()];
    let pairs = [
        ("mcr.example/base:1", "r.example/base:2"),
        ("registry.k8s.io/pause:3.10.2", "r.example/pause:x"),
    ];
    for (image, other) in pairs {
        let (image, other) = (image.parse().unwrap(), other.parse().unwrap());
        images.overrides.insert(image, other);
    }
    let facts = ClusterFacts::assumed(&cluster).unwrap();
    let inputs = Inputs {
        allow_missing_programs: true,
        ..Inputs::default()
    };
    let plans = documents(&cluster, &inputs, &facts).unwrap();
    let text = serde_json::to_string(&plans.last().unwrap().documents).unwrap();
    assert!(text.contains("r.example/base:2"), "{text}");
    assert!(text.contains("r.example/pause:x"), "{text}");
    for (image, _) in pairs {
        assert!(!text.contains(image), "{image}");
    }
}
