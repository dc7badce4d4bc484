//! Objects that several steps share, removed in any order.

use casement_resource::wire::{Outcome, RemoveScope};
use casement_resource::{Exclusion, RegistryData, ResourceId, Step};
use proptest::prelude::*;

use super::{Rig, Task, document, windows_host};
use crate::engine::documents::{exclusion, registry};
use crate::sim::World;

const POLICY: &str = r"SOFTWARE\Policies\Microsoft\Windows Defender\Exclusions";

/// Values that share keys, and exclusions that share lists and switches.
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

/// A host with an existing exclusion list.
fn with_existing_list(switch: Option<u32>, listed: Option<&str>) -> World {
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
        let order = self.order(Task::Remove(RemoveScope::Ids(vec![id.clone()])));
        self.execute(&order).unwrap().0
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn shared_objects_are_restored_in_any_order_of_removal(
        applied in Just(steps()).prop_shuffle(),
        removed in Just(steps()).prop_shuffle(),
        reapplied in 0..steps().len(),
        switch in prop::option::of(0..3_u32),
        listed in prop::option::of(prop_oneof![Just(r"C:\k"), Just(r"C:\other")]),
        untouched in any::<bool>(),
    ) {
        let world = if untouched { windows_host() } else { with_existing_list(switch, listed) };
        let mut rig = Rig::new(world.clone());
        for step in &applied {
            prop_assert_eq!(rig.converge(&document(vec![step.clone()])).0, Outcome::Done);
        }
        let all = rig.sim.world();
        // Remove some and apply them again: the other records have the prior state.
        for step in &removed[..reapplied] {
            prop_assert_eq!(rig.remove_one(&step.id), Outcome::Done);
        }
        prop_assert_eq!(rig.converge(&document(removed.clone())).0, Outcome::Done);
        prop_assert_eq!(rig.sim.world(), all);
        for (index, step) in removed.iter().enumerate() {
            prop_assert_eq!(rig.remove_one(&step.id), Outcome::Done);
            let rest = removed[index + 1..].to_vec();
            let (_, events) = rig.converge(&document(rest));
            prop_assert_eq!(super::changed(&events), Vec::<String>::new(), "after {}", &step.id);
        }
        prop_assert_eq!(rig.sim.world(), world);
    }
}

#[test]
fn host_without_defender_is_in_sync() {
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
