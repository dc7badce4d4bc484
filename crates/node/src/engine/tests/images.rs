//! Images of containerd and Docker.

use casement_resource::wire::Outcome;
use casement_resource::{Code, Condition, ImageSource, ImageStore, Resource, Run, Step};

use super::{Rig, changed, document, failed, windows_host, with_after};
use crate::engine::documents::{BASE, OLD, file, image, service};
use crate::sim::{SimImage, World};

fn with_containerd(image: Step) -> casement_resource::NodeDocument {
    document(vec![
        file("ctr", r"C:\k\ctr.exe", "ctr"),
        service("containerd", Run::Running, &[], &[]),
        with_after(image, &["service containerd", "ctr"]),
    ])
}

#[test]
fn image_for_another_windows_build_is_not_pulled() {
    let mut rig = Rig::new(windows_host());
    let (outcome, events) = rig.converge(&with_containerd(image(OLD)));
    assert_eq!(outcome, Outcome::Failed);
    let failure = &failed(&events)[&format!("image {OLD}")];
    assert_eq!(failure.code, Code::ActionRequired);
    assert_eq!(
        failure.expected.as_deref(),
        Some("an image for 10.0.20348.3807")
    );
    assert_eq!(failure.found.as_deref(), Some("10.0.17763.5000"));
    assert_eq!(rig.sim.world().images, World::default().images);
}

#[test]
fn image_is_pulled_if_the_build_check_is_off() {
    let mut step = image(OLD);
    if let Resource::Image(image) = &mut step.resource {
        image.check_build = false;
    }
    let mut rig = Rig::new(windows_host());
    assert_eq!(rig.converge(&with_containerd(step)).0, Outcome::Done);
    assert!(rig.sim.world().images[OLD].complete);
}

#[test]
fn image_that_does_not_run_is_removed() {
    let mut rig = Rig::new(windows_host());
    rig.sim
        .modify_world(|world| world.registry.get_mut(BASE).unwrap().runs = false);
    let (outcome, events) = rig.converge(&with_containerd(image(BASE)));
    assert_eq!(outcome, Outcome::Failed);
    let failure = &failed(&events)[&format!("image {BASE}")];
    assert_eq!(failure.code, Code::ProgramFailed);
    assert!(
        failure.message.contains("failed to test"),
        "{}",
        failure.message
    );
    assert!(rig.sim.world().images.is_empty());
    rig.sim
        .modify_world(|world| world.registry.get_mut(BASE).unwrap().runs = true);
    assert_eq!(rig.converge(&with_containerd(image(BASE))).0, Outcome::Done);
}

#[test]
fn tag_of_a_foreign_image_is_kept() {
    let latest = "mcr.example/windows/nanoserver:latest";
    let theirs = SimImage {
        id: "sha256:theirs".to_owned(),
        complete: true,
    };
    let mut rig = Rig::new(windows_host());
    rig.sim.modify_world(|world| {
        world.images.insert(latest.to_owned(), theirs.clone());
    });
    let (outcome, events) = rig.converge(&with_containerd(image(BASE)));
    assert_eq!(outcome, Outcome::Failed);
    let failure = &failed(&events)[&format!("image {BASE}")];
    assert_eq!(failure.code, Code::Foreign);
    assert_eq!(rig.sim.world().images[latest], theirs);
}

#[test]
fn existing_image_survives_removal() {
    let mut rig = Rig::new(windows_host());
    rig.sim.modify_world(|world| {
        let image = SimImage {
            id: "sha256:theirs".to_owned(),
            complete: true,
        };
        world.images.insert(BASE.to_owned(), image);
    });
    let mut step = image(BASE);
    if let Resource::Image(image) = &mut step.resource {
        // Docker is foreign and keeps running.
        image.store = docker();
    }
    rig.sim.modify_world(install_docker);
    let before = rig.sim.world();
    let (outcome, events) = rig.converge(&document(vec![step]));
    assert_eq!(outcome, Outcome::Done, "{:?}", failed(&events));
    assert_eq!(changed(&events).len(), 1, "it gets one more tag");
    assert_eq!(rig.remove(), Outcome::Done);
    assert_eq!(rig.sim.world(), before);
}

#[test]
fn docker_image_is_built_from_a_folder_and_removed() {
    let mut rig = Rig::new(windows_host());
    rig.sim.modify_world(install_docker);
    let before = rig.sim.world();
    let mut step = image("kubeletwin/pause:here");
    if let Resource::Image(image) = &mut step.resource {
        image.store = docker();
        image.source = ImageSource::Folder(r"C:\k\pause".parse().unwrap());
        image.tags = Vec::new();
    }
    let document = document(vec![
        file("dockerfile", r"C:\k\pause\Dockerfile", "FROM x"),
        with_after(step, &["dockerfile"]),
    ]);
    let (outcome, events) = rig.converge(&document);
    assert_eq!(outcome, Outcome::Done, "{:?}", failed(&events));
    assert!(rig.sim.world().images["kubeletwin/pause:here"].complete);
    assert_eq!(changed(&rig.converge(&document).1), Vec::<String>::new());
    assert_eq!(rig.remove(), Outcome::Done);
    assert_eq!(rig.sim.world(), before);
}

fn docker() -> ImageStore {
    ImageStore::Docker {
        docker: r"C:\docker\docker.exe".parse().unwrap(),
        ready: Condition::ServiceRunning("docker".to_owned()),
    }
}

/// A foreign daemon with its client.
pub(super) fn install_docker(world: &mut World) {
    let service = world.services["windefend"].clone();
    world.services.insert("docker".to_owned(), service);
    let notes = world.entries[&r"C:\k\notes.txt".parse().unwrap()].clone();
    let folder = world.entries[&r"C:\k".parse().unwrap()].clone();
    world.entries.insert(r"C:\docker".parse().unwrap(), folder);
    world
        .entries
        .insert(r"C:\docker\docker.exe".parse().unwrap(), notes);
}
