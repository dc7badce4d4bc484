//! Restarts of services whose inputs changed.

use casement_resource::wire::{Event, EventKind, Outcome};
use casement_resource::{NodeDocument, Run, ServiceState};

use super::{Faults, Rig, Task, changed, with_after};
use crate::engine::documents::{document, file, service, windows_host};
use crate::sim::SimEntry;

fn containerd(content: &str) -> NodeDocument {
    document(vec![
        file("config", r"C:\k\config", content),
        with_after(
            service("containerd", Run::Running, &[], &["config"]),
            &["config"],
        ),
        with_after(
            service("kubelet", Run::Running, &["containerd"], &[]),
            &["service containerd"],
        ),
    ])
}

#[test]
fn changed_file_restarts_the_service_and_its_dependents() {
    let mut rig = Rig::new(windows_host());
    rig.converge(&containerd("1"));
    let (outcome, events) = rig.converge(&containerd("2"));
    assert_eq!(outcome, Outcome::Done);
    assert_eq!(changed(&events), ["config", "service containerd"]);
    let world = rig.sim.world();
    for name in ["containerd", "kubelet"] {
        assert_eq!(world.services[name].state, ServiceState::Running, "{name}");
    }
    assert!(changed(&rig.converge(&containerd("2")).1).is_empty());
}

#[test]
fn file_repaired_after_drift_restarts_the_service() {
    let mut rig = Rig::new(windows_host());
    rig.converge(&containerd("1"));
    rig.sim.modify_world(|world| {
        let path = r"C:\k\config".parse().unwrap();
        world.entries.get_mut(&path).unwrap().0 = SimEntry::File(b"drifted".to_vec());
    });
    let (_, events) = rig.converge(&containerd("1"));
    assert_eq!(changed(&events), ["config", "service containerd"]);
}

#[test]
fn pending_restart_survives_a_kill() {
    for kill_at in 1..40 {
        let mut rig = Rig::new(windows_host());
        rig.converge(&containerd("1"));
        let order = rig.order(Task::Converge(containerd("2")));
        rig.sim.set_faults(Faults {
            kill_at: Some(kill_at),
            ..Faults::default()
        });
        if rig.execute(&order).is_some() {
            return;
        }
        rig.sim.set_faults(Faults::default());
        let (_, events) = rig.execute(&order).unwrap();
        // The whole journal, including events before the kill.
        let restarts = |event: &Event| matches!(&event.kind, EventKind::StepBegan { id, .. } if id.as_str() == "service containerd");
        assert!(
            events.iter().any(restarts),
            "killed at {kill_at}: {events:#?}"
        );
        let state = rig.sim.world().services["containerd"].state;
        assert_eq!(state, ServiceState::Running, "killed at {kill_at}");
    }
}
