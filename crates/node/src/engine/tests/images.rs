//! Images, on containerd's and on Docker's side.

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
fn an_image_for_another_windows_is_not_pulled() {
    let mut rig = Rig::new(windows_host());
    let (outcome, events) = rig.converge(&with_containerd(image(OLD)));
    assert_eq!(outcome, Outcome::Failed);
    let failure = &failed(&events)[&format!("image {OLD}")];
    assert_eq!(failure.code, Code::Needed);
    assert_eq!(failure.wanted.as_deref(), Some("made for 10.0.20348.3807"));
    assert_eq!(failure.found.as_deref(), Some("10.0.17763.5000"));
    assert_eq!(rig.sim.world().images, World::default().images);
}

#[test]
fn who_does_not_want_the_check_gets_the_image() {
    let mut step = image(OLD);
    if let Resource::Image(image) = &mut step.resource {
        image.check_build = false;
    }
    let mut rig = Rig::new(windows_host());
    assert_eq!(rig.converge(&with_containerd(step)).0, Outcome::Done);
    assert!(rig.sim.world().images[OLD].whole);
}

#[test]
fn an_image_that_the_kernel_refuses_is_not_called_there() {
    let mut rig = Rig::new(windows_host());
    rig.sim
        .meddle(|world| world.registry.get_mut(BASE).unwrap().runs = false);
    let (outcome, events) = rig.converge(&with_containerd(image(BASE)));
    assert_eq!(outcome, Outcome::Failed);
    let failure = &failed(&events)[&format!("image {BASE}")];
    assert_eq!(failure.code, Code::ProgramFailed);
    assert!(failure.what.contains("try"), "{}", failure.what);
    assert!(rig.sim.world().images.is_empty());
    rig.sim
        .meddle(|world| world.registry.get_mut(BASE).unwrap().runs = true);
    assert_eq!(rig.converge(&with_containerd(image(BASE))).0, Outcome::Done);
}

#[test]
fn a_name_of_somebody_elses_image_stays_theirs() {
    let latest = "mcr.example/windows/nanoserver:latest";
    let theirs = SimImage {
        id: "sha256:theirs".to_owned(),
        whole: true,
    };
    let mut rig = Rig::new(windows_host());
    rig.sim.meddle(|world| {
        world.images.insert(latest.to_owned(), theirs.clone());
    });
    let (outcome, events) = rig.converge(&with_containerd(image(BASE)));
    assert_eq!(outcome, Outcome::Failed);
    let failure = &failed(&events)[&format!("image {BASE}")];
    assert_eq!(failure.code, Code::Foreign);
    assert_eq!(rig.sim.world().images[latest], theirs);
}

#[test]
fn an_image_that_was_there_stays_when_casement_goes() {
    let mut rig = Rig::new(windows_host());
    rig.sim.meddle(|world| {
        let image = SimImage {
            id: "sha256:theirs".to_owned(),
            whole: true,
        };
        world.images.insert(BASE.to_owned(), image);
    });
    let mut step = image(BASE);
    if let Resource::Image(image) = &mut step.resource {
        // Docker is not casement's, and goes on.
        image.store = docker();
    }
    rig.sim.meddle(has_docker);
    let before = rig.sim.world();
    let (outcome, events) = rig.converge(&document(vec![step]));
    assert_eq!(outcome, Outcome::Done, "{:?}", failed(&events));
    assert_eq!(changed(&events).len(), 1, "it has one more name");
    assert_eq!(rig.remove(), Outcome::Done);
    assert_eq!(rig.sim.world(), before);
}

#[test]
fn docker_builds_an_image_of_a_folder_and_forgets_it_again() {
    let mut rig = Rig::new(windows_host());
    rig.sim.meddle(has_docker);
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
    assert!(rig.sim.world().images["kubeletwin/pause:here"].whole);
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

/// A daemon of somebody's, with its program.
pub(super) fn has_docker(world: &mut World) {
    let service = world.services["windefend"].clone();
    world.services.insert("docker".to_owned(), service);
    let notes = world.entries[&r"C:\k\notes.txt".parse().unwrap()].clone();
    let folder = world.entries[&r"C:\k".parse().unwrap()].clone();
    world.entries.insert(r"C:\docker".parse().unwrap(), folder);
    world
        .entries
        .insert(r"C:\docker\docker.exe".parse().unwrap(), notes);
}
