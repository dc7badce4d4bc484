//! Adapter settings that are lost to a switch and restored.

use casement_resource::wire::Outcome;
use casement_resource::{NodeDocument, Resource};

use super::{Faults, Rig, Task, document, failed, full, windows_host};

fn network() -> NodeDocument {
    let steps = full().steps().to_vec().into_iter();
    let selected = |resource: &Resource| {
        matches!(
            resource,
            Resource::AdapterSettings(_) | Resource::HnsNetwork(_)
        )
    };
    document(steps.filter(|step| selected(&step.resource)).collect())
}

#[test]
fn network_keeps_the_adapter_settings() {
    let mut rig = Rig::new(windows_host());
    let (outcome, events) = rig.converge(&network());
    assert_eq!(outcome, Outcome::Done, "{:?}", failed(&events));
    assert_eq!(rig.sim.world().adapter, windows_host().adapter);
    assert_eq!(rig.remove(), Outcome::Done);
    assert_eq!(rig.sim.world(), windows_host());
}

#[test]
fn next_run_restores_settings_after_a_kill() {
    for kill_at in 1.. {
        let mut rig = Rig::new(windows_host());
        let order = rig.order(Task::Converge(network()));
        rig.sim.set_faults(Faults {
            kill_at: Some(kill_at),
            ..Faults::default()
        });
        let result = rig.execute(&order);
        rig.sim.set_faults(Faults::default());
        assert_eq!(rig.converge(&network()).0, Outcome::Done);
        let settings = rig.sim.world().adapter;
        assert_eq!(settings, windows_host().adapter, "killed at {kill_at}");
        if result.is_some() {
            return;
        }
    }
}

#[test]
fn later_changes_of_settings_are_restored() {
    let mut rig = Rig::new(windows_host());
    rig.converge(&network());
    rig.sim
        .modify_world(|world| world.adapter.name_servers.clear());
    assert_eq!(rig.converge(&network()).0, Outcome::Done);
    assert_eq!(rig.sim.world().adapter, windows_host().adapter);
}
