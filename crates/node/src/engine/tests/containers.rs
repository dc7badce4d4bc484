//! Removal of the containerd store: containerd empties it, then Windows destroys the
//! layers, then the folder is deleted.

use casement_resource::wire::{Event, EventKind, Outcome, RemoveScope};
use casement_resource::{Code, NodeDocument, Run, ServiceState};

use super::{Faults, Rig, Task, document, failed, windows_host, with_after};
use crate::engine::documents::{BASE, container_store, file, image, service};
use crate::sim::{SimEntry, World};

fn runtime() -> NodeDocument {
    document(vec![
        file("ctr", r"C:\k\ctr.exe", "ctr"),
        container_store(),
        with_after(service("containerd", Run::Running, &[], &[]), &["store"]),
        with_after(image(BASE), &["service containerd", "ctr"]),
    ])
}

/// A host with a running pod.
fn running() -> Rig {
    let mut rig = Rig::new(windows_host());
    let (outcome, events) = rig.converge(&runtime());
    assert_eq!(outcome, Outcome::Done, "{:?}", failed(&events));
    rig.sim.modify_world(|world| world.run_container("pod"));
    rig
}

fn remove(rig: &mut Rig) -> (Outcome, Vec<Event>) {
    let order = rig.order(Task::Remove(RemoveScope::All));
    rig.execute(&order).unwrap()
}

fn stop_containerd(world: &mut World) {
    let containerd = world.services.get_mut("containerd").unwrap();
    containerd.state = ServiceState::Stopped;
}

#[test]
fn containerd_empties_its_store_before_the_folder_is_deleted() {
    let mut rig = running();
    assert!(rig.sim.world().containers["pod"].running);
    assert_eq!(rig.sim.world().layers.len(), 1);
    assert_eq!(remove(&mut rig).0, Outcome::Done);
    assert_eq!(rig.sim.world(), windows_host());
    let layer_by_layer = rig.recorder.calls().contains_key("destroy_layer");
    assert!(!layer_by_layer, "no layer was left");
}

#[test]
fn windows_destroys_layers_if_containerd_is_stopped() {
    let mut rig = running();
    rig.sim.modify_world(|world| {
        stop_containerd(world);
        world.containers.get_mut("pod").unwrap().running = false;
    });
    assert_eq!(remove(&mut rig).0, Outcome::Done);
    assert_eq!(rig.sim.world(), windows_host());
    assert!(rig.recorder.calls().contains_key("destroy_layer"));
}

#[test]
fn layer_in_use_is_reported_and_deleted_by_the_next_removal() {
    let mut rig = running();
    rig.sim.modify_world(stop_containerd);
    let (outcome, events) = remove(&mut rig);
    assert_eq!(outcome, Outcome::Failed);
    let failed = failed(&events);
    assert_eq!(failed.keys().collect::<Vec<_>>(), ["store"]);
    assert!(failed["store"].message.contains("destroy_layer"));
    rig.sim
        .modify_world(|world| world.containers.get_mut("pod").unwrap().running = false);
    assert_eq!(remove(&mut rig).0, Outcome::Done);
    assert_eq!(rig.sim.world(), windows_host());
}

/// The store is deleted even if containerd is broken.
#[test]
fn store_is_removed_even_if_containerd_fails() {
    for refused in [
        "end task",
        "delete container",
        "drop image",
        "remove snapshot",
    ] {
        let mut rig = running();
        rig.sim.set_faults(Faults {
            failing: Some(refused.to_owned()),
            ..Faults::default()
        });
        let (first, _) = remove(&mut rig);
        rig.sim.set_faults(Faults::default());
        rig.sim.modify_world(|world| {
            // As after a reboot.
            if let Some(pod) = world.containers.get_mut("pod") {
                pod.running = false;
            }
        });
        let result = first == Outcome::Done || remove(&mut rig).0 == Outcome::Done;
        assert!(result, "{refused}");
        assert_eq!(rig.sim.world(), windows_host(), "{refused}");
    }
}

#[test]
fn existing_store_survives_removal_with_its_contents() {
    let mut host = windows_host();
    for path in [r"C:\ProgramData", r"C:\ProgramData\containerd"] {
        let folder = (SimEntry::Directory, "everybody".to_owned());
        host.entries.insert(path.parse().unwrap(), folder);
    }
    host.run_container("theirs");
    let mut rig = Rig::new(host.clone());
    rig.converge(&runtime());
    assert_eq!(remove(&mut rig).0, Outcome::Done);
    assert_eq!(rig.sim.world(), host);
}

/// In a foreign store an image can be removed only while containerd runs, so
/// containerd stays until then.
#[test]
fn failed_image_removal_keeps_its_runtime() {
    let without_store = document(
        runtime()
            .steps()
            .iter()
            .filter(|step| step.id.as_str() != "store")
            .map(|step| with_after(step.clone(), &[]))
            .collect(),
    );
    let mut rig = Rig::new(windows_host());
    assert_eq!(rig.converge(&without_store).0, Outcome::Done);
    rig.sim.set_faults(Faults {
        failing: Some("drop image".to_owned()),
        ..Faults::default()
    });
    let (outcome, events) = remove(&mut rig);
    assert_eq!(outcome, Outcome::Failed);
    let id = format!("image {BASE}");
    assert_eq!(failed(&events)[&id].code, Code::System);
    let skipped = events.iter().filter(
        |event| matches!(&event.kind, EventKind::StepSkipped { because, .. } if because.as_str() == id),
    );
    assert_eq!(skipped.count(), 2);
    rig.sim.set_faults(Faults::default());
    assert_eq!(remove(&mut rig).0, Outcome::Done);
    assert_eq!(rig.sim.world(), windows_host());
}
