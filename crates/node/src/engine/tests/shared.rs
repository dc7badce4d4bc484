//! Things that several steps share, taken back in every order.

use casement_resource::wire::{Outcome, RemoveWhat};
use casement_resource::{Exclusion, RegistryData, ResourceId, Step};
use proptest::prelude::*;

use super::{Rig, Task, document, windows_host};
use crate::engine::documents::{exclusion, registry};
use crate::sim::World;

const POLICY: &str = r"SOFTWARE\Policies\Microsoft\Windows Defender\Exclusions";

/// Values that meet in keys, and exclusions that meet in lists and switches.
fn steps() -> Vec<Step> {
    let path = |path: &str| exclusion(Exclusion::Path(path.to_owned()));
    let process = |path: &str| exclusion(Exclusion::Process(path.to_owned()));
    let setting = |key: &str| registry(key, key, RegistryData::Number(1));
    vec![
        path(r"C:\k"),
        path(r"C:\var"),
        process(r"C:\k\a.exe"),
        process(r"C:\k\b.exe"),
        setting(r"SOFTWARE\Policies\x"),
        setting(r"SOFTWARE\Policies\y"),
    ]
}

/// A host on which somebody has begun an exclusion list before.
fn set_up_by_hand(switch: Option<u32>, listed: Option<&str>) -> World {
    let mut world = windows_host();
    let mut key = String::new();
    for part in format!(r"{POLICY}\Paths").split('\\') {
        key = if key.is_empty() {
            part.to_owned()
        } else {
            format!(r"{key}\{part}")
        };
        world.keys.insert(key.clone());
    }
    let mut put = |key: &str, name: &str, data| {
        world.values.insert((key.to_owned(), name.to_owned()), data);
    };
    if let Some(switch) = switch {
        put(POLICY, "Exclusions_Paths", RegistryData::Number(switch));
    }
    if let Some(path) = listed {
        let data = RegistryData::Text("odd".to_owned());
        put(&format!(r"{POLICY}\Paths"), path, data);
    }
    world
}

impl Rig {
    fn remove_one(&mut self, id: &ResourceId) -> Outcome {
        let order = self.order(Task::Remove(RemoveWhat::Ids(vec![id.clone()])));
        self.carry_out(&order).unwrap().0
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn what_is_shared_comes_back_in_whatever_order_steps_go(
        made in Just(steps()).prop_shuffle(),
        gone in Just(steps()).prop_shuffle(),
        back in 0..steps().len(),
        switch in prop::option::of(0..3_u32),
        listed in prop::option::of(prop_oneof![Just(r"C:\k"), Just(r"C:\other")]),
        untouched in any::<bool>(),
    ) {
        let world = if untouched { windows_host() } else { set_up_by_hand(switch, listed) };
        let mut rig = Rig::new(world.clone());
        for step in &made {
            prop_assert_eq!(rig.converge(&document(vec![step.clone()])).0, Outcome::Done);
        }
        let all = rig.sim.world();
        // Some go and come back: the rest has kept what was there before.
        for step in &gone[..back] {
            prop_assert_eq!(rig.remove_one(&step.id), Outcome::Done);
        }
        prop_assert_eq!(rig.converge(&document(gone.clone())).0, Outcome::Done);
        prop_assert_eq!(rig.sim.world(), all);
        for (at, step) in gone.iter().enumerate() {
            prop_assert_eq!(rig.remove_one(&step.id), Outcome::Done);
            let rest = gone[at + 1..].to_vec();
            let (_, events) = rig.converge(&document(rest));
            prop_assert_eq!(super::changed(&events), Vec::<String>::new(), "after {}", &step.id);
        }
        prop_assert_eq!(rig.sim.world(), world);
    }
}

#[test]
fn a_host_without_defender_is_right_as_it_is() {
    let mut world = windows_host();
    world.services.remove("windefend");
    let mut rig = Rig::new(world.clone());
    let (outcome, events) = rig.converge(&document(steps()[..4].to_vec()));
    assert_eq!(
        (outcome, super::changed(&events)),
        (Outcome::Done, Vec::new())
    );
    assert_eq!(rig.sim.world(), world);
}
