//! Which platform functions these tests call on a simulated Windows host, for the
//! coverage table of the Windows platform.
//!
//! `BLESS=1` updates the list.

use casement_golden::Goldens;
use casement_resource::ServiceState;

use super::faults::mode_documents;
use super::reboots::features;
use super::semantics::add_pod;
use super::{Rig, Task, full, observe, windows_host};
use crate::recorder::RecordingPlatform;

#[test]
fn list_of_functions_called_on_simulated_windows_is_current() {
    let mut rig = Rig::new(windows_host());
    let recorded = RecordingPlatform::new(&rig.sim, rig.recorder.clone());
    observe(&recorded, &rig.layout, &full()).unwrap();
    rig.converge(&full());
    rig.sim.modify_world(|world| {
        add_pod(world, "cbr0");
        world.run_container("pod");
        world.containers.get_mut("pod").unwrap().running = false;
        world.services.get_mut("containerd").unwrap().state = ServiceState::Stopped;
    });
    rig.remove();
    let mut functions = rig.recorder.calls();
    let mut rig = super::faults::rig();
    for document in mode_documents(casement_spec::NetworkMode::L3Routes) {
        super::faults::converge(&mut rig, &document);
    }
    functions.extend(rig.recorder.calls());
    let mut rig = Rig::new(windows_host());
    let order = rig.order(Task::Converge(features()));
    rig.execute_to_end(&order);
    functions.extend(rig.recorder.calls());
    let list: String = functions.keys().map(|name| format!("{name}\n")).collect();
    let mut goldens = Goldens::in_folder("tests/golden/coverage");
    goldens.add("simulated.txt", list);
    goldens.assert();
}
