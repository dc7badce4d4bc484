//! What a switch takes from an adapter, and casement gives back.

use casement_resource::wire::Outcome;
use casement_resource::{NodeDocument, Resource};

use super::{Faults, Rig, Task, document, failed, full, windows_host};

fn network() -> NodeDocument {
    let steps = full().steps().to_vec().into_iter();
    let about = |resource: &Resource| {
        matches!(
            resource,
            Resource::AdapterSettings(_) | Resource::HnsNetwork(_)
        )
    };
    document(steps.filter(|step| about(&step.resource)).collect())
}

#[test]
fn a_network_that_takes_the_adapter_leaves_its_settings() {
    let mut rig = Rig::new(windows_host());
    let (outcome, events) = rig.converge(&network());
    assert_eq!(outcome, Outcome::Done, "{:?}", failed(&events));
    assert_eq!(rig.sim.world().adapter, windows_host().adapter);
    assert_eq!(rig.remove(), Outcome::Done);
    assert_eq!(rig.sim.world(), windows_host());
}

#[test]
fn killed_before_they_are_given_back_the_next_run_does_it() {
    for kill_at in 1.. {
        let mut rig = Rig::new(windows_host());
        let order = rig.order(Task::Converge(network()));
        rig.sim.set_faults(Faults {
            kill_at: Some(kill_at),
            ..Faults::default()
        });
        let ended = rig.carry_out(&order);
        rig.sim.set_faults(Faults::default());
        assert_eq!(rig.converge(&network()).0, Outcome::Done);
        let settings = rig.sim.world().adapter;
        assert_eq!(settings, windows_host().adapter, "killed at {kill_at}");
        if ended.is_some() {
            return;
        }
    }
}

#[test]
fn what_somebody_changed_later_is_put_back_and_what_came_is_kept() {
    let mut rig = Rig::new(windows_host());
    rig.converge(&network());
    rig.sim.meddle(|world| world.adapter.name_servers.clear());
    assert_eq!(rig.converge(&network()).0, Outcome::Done);
    assert_eq!(rig.sim.world().adapter, windows_host().adapter);
}
