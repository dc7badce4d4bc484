//! Groups of dependent steps for random documents.

use casement_resource::{
    Access, Artifact, ArtifactFormat, Condition, InterfaceRef, PendingChange, Reboot, Resource,
    Route, Run, Sha256, Step, Wait,
};
use proptest::prelude::*;

use super::super::full;
use crate::engine::documents::{
    ADDRESS, BASE, container_store, file, image, reboot, service, step, update, with_after,
};

/// The content of the artifact.
pub(super) const PROGRAM: &[u8] = b"a program";

pub(super) fn windows_group() -> impl Strategy<Value = Vec<Step>> {
    prop_oneof![
        any::<(bool, bool)>().prop_map(|(store, image)| containers(store, image)),
        prop::collection::vec(any::<bool>(), 5).prop_map(|chosen| network(&chosen)),
        Just(membership()),
        common_group(ADDRESS, r"C:\a\b\program.exe"),
        (0..=3807_u32).prop_map(|revision| vec![update(revision, None)]),
        Just(vec![unneeded_reboot()]),
    ]
}

pub(super) fn linux_group() -> impl Strategy<Value = Vec<Step>> {
    let route = |part: u8| vec![route(part)];
    prop_oneof![
        common_group(ADDRESS, "/a/b/program"),
        (1..4_u8).prop_map(route),
    ]
}

/// For both systems.
fn common_group(address: &'static str, program: &'static str) -> impl Strategy<Value = Vec<Step>> {
    prop_oneof![
        Just(vec![artifact(program)]),
        Just(vec![satisfied_wait(Condition::Address(
            address.parse().unwrap()
        ))]),
    ]
}

/// containerd, with or without its store and an image.
fn containers(store: bool, with_image: bool) -> Vec<Step> {
    let mut steps = vec![file("ctr", r"C:\k\ctr.exe", "ctr")];
    if store {
        steps.push(container_store());
    }
    steps.push(service("containerd", Run::Running, &[], &[]));
    if with_image {
        steps.push(with_after(image(BASE), &["service containerd", "ctr"]));
    }
    steps
}

/// A network with some of its dependents.
fn network(chosen: &[bool]) -> Vec<Step> {
    let names = ["endpoint", "vip", "route", "forwarding"];
    let steps = full().steps().to_vec().into_iter();
    let wanted = |id: &str| {
        let index = names.iter().position(|name| *name == id);
        id == "adapter" || id == "network" || index.is_some_and(|index| chosen[index])
    };
    steps.filter(|step| wanted(step.id.as_str())).collect()
}

/// A join with its dependencies, and a kubeconfig with its certificate.
fn membership() -> Vec<Step> {
    let names = ["kubernetes", "kubelet folder", "join", "kubeconfig"];
    let steps = full().steps().to_vec().into_iter();
    let mut steps: Vec<Step> = steps
        .filter(|step| names.contains(&step.id.as_str()))
        .collect();
    steps.insert(2, service("kubelet", Run::Either, &[], &[]));
    steps
}

fn artifact(path: &str) -> Step {
    step(
        "artifact",
        Resource::Artifact(Artifact {
            sha256: Sha256::of(PROGRAM),
            size: PROGRAM.len() as u64,
            format: ArtifactFormat::Plain,
            destination: path.parse().unwrap(),
            members: Vec::new(),
            access: Access::Inherited,
        }),
    )
}

/// A condition that is already met.
fn satisfied_wait(condition: Condition) -> Step {
    step(
        "satisfied wait",
        Resource::Wait(Wait {
            condition,
            timeout_seconds: 5,
            help: None,
        }),
    )
}

/// A reboot that is not needed: the comparison of worlds includes the boot count.
fn unneeded_reboot() -> Step {
    let mut step = reboot();
    if let Resource::Reboot(it) = &mut step.resource {
        *it = Reboot {
            waits: vec![PendingChange::Feature("Telnet".to_owned())],
            ..it.clone()
        };
    }
    step
}

fn route(part: u8) -> Step {
    step(
        &format!("route {part}"),
        Resource::Route(Route {
            destination: format!("10.244.{part}.0/24").parse().unwrap(),
            next_hop: "198.18.0.12".parse().unwrap(),
            interface: InterfaceRef::Address(ADDRESS.parse().unwrap()),
        }),
    )
}
