//! Which functions of the platform these tests reach on a simulated Windows
//! host, for the table of what was shown of the Windows platform.
//!
//! `BLESS=1` writes the list anew.

use std::fs;
use std::path::Path;

use casement_resource::ServiceState;

use super::faults::real;
use super::reboots::features;
use super::semantics::live_in;
use super::{Rig, Task, full, observe, windows_host};
use crate::recorded::Recorded;

#[test]
fn the_list_of_what_is_reached_on_a_simulated_windows_is_right() {
    let mut rig = Rig::new(windows_host());
    let recorded = Recorded::new(&rig.sim, rig.book.clone());
    observe(&recorded, &rig.layout, &full()).unwrap();
    rig.converge(&full());
    rig.sim.meddle(|world| {
        live_in(world, "cbr0");
        world.run_container("pod");
        world.containers.get_mut("pod").unwrap().running = false;
        world.services.get_mut("containerd").unwrap().state = ServiceState::Stopped;
    });
    rig.remove();
    let mut functions = rig.book.calls();
    let mut rig = super::faults::rig();
    for document in real(casement_spec::NetworkMode::L3Routes) {
        super::faults::converge(&mut rig, &document);
    }
    functions.extend(rig.book.calls());
    let mut rig = Rig::new(windows_host());
    let order = rig.order(Task::Converge(features()));
    rig.see_through(&order);
    functions.extend(rig.book.calls());
    let list: String = functions.keys().map(|name| format!("{name}\n")).collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/simulated.txt");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &list).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        written,
        list,
        "{} differs; BLESS=1 writes it",
        path.display()
    );
}
