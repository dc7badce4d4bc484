//! Nodes with Docker as the container runtime.

use casement_resource::wire::Outcome;
use casement_resource::{Code, NodeDocument, ServiceState, StartType};
use casement_spec::{Backend, HostOs, Network, NetworkMode, RuntimeKind};

use super::faults::{converge, documents_for, restored, rig};
use super::images::install_docker;
use super::{Rig, changed, failed};
use crate::sim::World;

fn documents(version: &str, os: HostOs) -> Vec<NodeDocument> {
    documents_for(|cluster| {
        cluster.spec.network = Network::of(NetworkMode::L3Routes);
        assert!(matches!(cluster.spec.network.backend, Backend::L3Routes));
        cluster.spec.kubernetes.version = version.parse().unwrap();
        cluster.spec.runtime.kind = RuntimeKind::Docker;
        cluster.spec.hosts[1].os = os;
    })
}

/// Docker as its installer sets it up, with automatic start.
fn install_running_docker(world: &mut World) {
    install_docker(world);
    let folder = world.entries[&r"C:\docker".parse().unwrap()].clone();
    let program = world.entries[&r"C:\docker\docker.exe".parse().unwrap()].clone();
    for path in [r"C:\Program Files", r"C:\Program Files\docker"] {
        world.entries.insert(path.parse().unwrap(), folder.clone());
    }
    let path = r"C:\Program Files\docker\docker.exe".parse().unwrap();
    world.entries.insert(path, program);
    let service = world.services.get_mut("docker").unwrap();
    service.start = StartType::Automatic;
    service.state = ServiceState::Running;
}

fn host() -> Rig {
    let rig = rig();
    rig.sim.modify_world(install_running_docker);
    rig
}

#[test]
fn docker_nodes_are_applied_and_removed() {
    for (version, os, cri_dockerd, pause) in [
        ("1.23.0", HostOs::Windows2019, false, false),
        ("1.24.0", HostOs::Windows2019, true, false),
        ("1.23.0", HostOs::Windows1803, false, true),
    ] {
        let mut rig = host();
        let documents = documents(version, os);
        for document in &documents {
            let (outcome, events) = converge(&mut rig, document);
            assert_eq!(outcome, Outcome::Done, "{version}: {:?}", failed(&events));
        }
        let world = rig.sim.world();
        assert_eq!(world.services.contains_key("cri-dockerd"), cri_dockerd);
        assert_eq!(world.images.contains_key("kubeletwin/pause:latest"), pause);
        assert!(!world.services.contains_key("containerd"));
        for document in &documents {
            let (_, events) = converge(&mut rig, document);
            assert_eq!(changed(&events), Vec::<String>::new(), "{version}");
        }
        assert_eq!(rig.remove(), Outcome::Done);
        let mut wanted = restored();
        install_running_docker(&mut wanted);
        assert_eq!(rig.sim.world(), wanted, "{version}");
    }
}

#[test]
fn missing_docker_requires_action() {
    let mut rig = rig();
    let documents = documents("1.24.0", HostOs::Windows2019);
    let (outcome, events) = converge(&mut rig, &documents[0]);
    assert_eq!(outcome, Outcome::Failed);
    let failure = &failed(&events)["service-docker"];
    assert_eq!(failure.code, Code::ActionRequired);
    assert!(failure.help.contains("install Docker"), "{failure:?}");
    assert!(!rig.sim.world().services.contains_key("kubelet"));
    rig.sim.modify_world(install_running_docker);
    assert_eq!(converge(&mut rig, &documents[0]).0, Outcome::Done);
    let kubelet = &rig.sim.world().services["kubelet"];
    assert_eq!(kubelet.state, ServiceState::Stopped);
    assert_eq!(kubelet.depends_on, ["cri-dockerd"]);
}
