//! How containerd's folder goes: containerd lets go, then Windows of the layers,
//! then the folder.

use casement_resource::wire::{Event, Outcome, RemoveWhat, What};
use casement_resource::{Code, NodeDocument, Run, ServiceState};

use super::{Faults, Rig, Task, document, failed, windows_host, with_after};
use crate::engine::documents::{BASE, container_store, file, image, service};
use crate::sim::{Thing, World};

fn runtime() -> NodeDocument {
    document(vec![
        file("ctr", r"C:\k\ctr.exe", "ctr"),
        container_store(),
        with_after(service("containerd", Run::Running, &[], &[]), &["store"]),
        with_after(image(BASE), &["service containerd", "ctr"]),
    ])
}

/// A host with a pod.
fn running() -> Rig {
    let mut rig = Rig::new(windows_host());
    let (outcome, events) = rig.converge(&runtime());
    assert_eq!(outcome, Outcome::Done, "{:?}", failed(&events));
    rig.sim.meddle(|world| world.run_container("pod"));
    rig
}

fn remove(rig: &mut Rig) -> (Outcome, Vec<Event>) {
    let order = rig.order(Task::Remove(RemoveWhat::All));
    rig.carry_out(&order).unwrap()
}

fn stop_containerd(world: &mut World) {
    let containerd = world.services.get_mut("containerd").unwrap();
    containerd.state = ServiceState::Stopped;
}

#[test]
fn containerd_lets_go_of_what_runs_before_its_folder_goes() {
    let mut rig = running();
    assert!(rig.sim.world().containers["pod"].running);
    assert_eq!(rig.sim.world().layers.len(), 1);
    assert_eq!(remove(&mut rig).0, Outcome::Done);
    assert_eq!(rig.sim.world(), windows_host());
    let layer_by_layer = rig.book.calls().contains_key("destroy_layer");
    assert!(!layer_by_layer, "nothing was left for Windows");
}

#[test]
fn where_containerd_is_silent_windows_deletes_the_layers() {
    let mut rig = running();
    rig.sim.meddle(|world| {
        stop_containerd(world);
        world.containers.get_mut("pod").unwrap().running = false;
    });
    assert_eq!(remove(&mut rig).0, Outcome::Done);
    assert_eq!(rig.sim.world(), windows_host());
    assert!(rig.book.calls().contains_key("destroy_layer"));
}

#[test]
fn a_layer_that_is_in_use_is_named_and_goes_with_the_next_removal() {
    let mut rig = running();
    rig.sim.meddle(stop_containerd);
    let (outcome, events) = remove(&mut rig);
    assert_eq!(outcome, Outcome::Failed);
    let failed = failed(&events);
    assert_eq!(failed.keys().collect::<Vec<_>>(), ["store"]);
    assert!(failed["store"].what.contains("destroy_layer"));
    rig.sim
        .meddle(|world| world.containers.get_mut("pod").unwrap().running = false);
    assert_eq!(remove(&mut rig).0, Outcome::Done);
    assert_eq!(rig.sim.world(), windows_host());
}

/// However broken containerd is, its folder is casement's and goes.
#[test]
fn a_containerd_that_refuses_everything_is_no_obstacle() {
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
        rig.sim.meddle(|world| {
            // What no daemon ends, a boot does.
            if let Some(pod) = world.containers.get_mut("pod") {
                pod.running = false;
            }
        });
        let ended = first == Outcome::Done || remove(&mut rig).0 == Outcome::Done;
        assert!(ended, "{refused}");
        assert_eq!(rig.sim.world(), windows_host(), "{refused}");
    }
}

#[test]
fn a_store_that_was_there_before_stays_with_all_that_is_in_it() {
    let mut host = windows_host();
    for path in [r"C:\ProgramData", r"C:\ProgramData\containerd"] {
        let folder = (Thing::Directory, "everybody".to_owned());
        host.entries.insert(path.parse().unwrap(), folder);
    }
    host.run_container("theirs");
    let mut rig = Rig::new(host.clone());
    rig.converge(&runtime());
    assert_eq!(remove(&mut rig).0, Outcome::Done);
    assert_eq!(rig.sim.world(), host);
}

/// In somebody else's store an image can be taken back only while containerd runs,
/// so containerd stays until it was.
#[test]
fn an_image_that_cannot_go_keeps_the_service_that_it_needs() {
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
        |event| matches!(&event.what, What::StepSkipped { because, .. } if because.as_str() == id),
    );
    assert_eq!(skipped.count(), 2);
    rig.sim.set_faults(Faults::default());
    assert_eq!(remove(&mut rig).0, Outcome::Done);
    assert_eq!(rig.sim.world(), windows_host());
}
