//! The documents of nodes whose containers Docker runs.

use casement_resource::wire::Outcome;
use casement_resource::{Code, NodeDocument, ServiceState, StartType};
use casement_spec::{Backend, HostOs, Network, NetworkMode, RuntimeKind};

use super::faults::{converge, real_of, restored, rig};
use super::images::has_docker;
use super::{Rig, changed, failed};
use crate::sim::World;

/// Of a release, on a Windows.
fn documents(version: &str, os: HostOs) -> Vec<NodeDocument> {
    real_of(|cluster| {
        cluster.spec.network = Network::of(NetworkMode::L3Routes);
        assert!(matches!(cluster.spec.network.backend, Backend::L3Routes));
        cluster.spec.kubernetes.version = version.parse().unwrap();
        cluster.spec.runtime.kind = RuntimeKind::Docker;
        cluster.spec.hosts[1].os = os;
    })
}

/// Docker as its makers install it: it starts by itself.
fn docker_here(world: &mut World) {
    has_docker(world);
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
    rig.sim.meddle(docker_here);
    rig
}

#[test]
fn nodes_on_docker_are_made_and_taken_back() {
    for (version, os, between, pause) in [
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
        assert_eq!(world.services.contains_key("cri-dockerd"), between);
        assert_eq!(world.images.contains_key("kubeletwin/pause:latest"), pause);
        assert!(!world.services.contains_key("containerd"));
        for document in &documents {
            let (_, events) = converge(&mut rig, document);
            assert_eq!(changed(&events), Vec::<String>::new(), "{version}");
        }
        assert_eq!(rig.remove(), Outcome::Done);
        let mut wanted = restored();
        docker_here(&mut wanted);
        assert_eq!(rig.sim.world(), wanted, "{version}");
    }
}

#[test]
fn without_docker_it_is_a_finding_with_the_remedy() {
    let mut rig = rig();
    let documents = documents("1.24.0", HostOs::Windows2019);
    let (outcome, events) = converge(&mut rig, &documents[0]);
    assert_eq!(outcome, Outcome::Failed);
    let failure = &failed(&events)["service-docker"];
    assert_eq!(failure.code, Code::Needed);
    assert!(failure.remedy.contains("install Docker"), "{failure:?}");
    assert!(!rig.sim.world().services.contains_key("kubelet"));
    // Somebody installs it, and it goes on.
    rig.sim.meddle(docker_here);
    assert_eq!(converge(&mut rig, &documents[0]).0, Outcome::Done);
    let kubelet = &rig.sim.world().services["kubelet"];
    assert_eq!(kubelet.state, ServiceState::Stopped);
    assert_eq!(kubelet.depends_on, ["cri-dockerd"]);
}
