//! Random documents.

use casement_resource::wire::Outcome;
use casement_resource::{Exclusion, NodeDocument, Protocol, RegistryData, Run, Step};
use proptest::prelude::*;

use super::{Faults, Rig, Task, failed, with_after};
use crate::engine::documents::{
    directory, document, env, exclusion, feature, file, hostname, path_entry, ports, registry,
    rule, service, time_sync, windows_host,
};

/// A step about one of a few things, so that steps meet in the same folders.
fn any_step() -> impl Strategy<Value = Step> {
    let folder = prop_oneof![
        Just(r"C:\k"),
        Just(r"C:\a"),
        Just(r"C:\a\b"),
        Just(r"C:\c\d\e")
    ];
    prop_oneof![
        folder
            .clone()
            .prop_map(|path| directory(&format!("directory {path}"), path)),
        (folder.clone(), 0..3_u8, "[a-c]{0,3}").prop_map(|(folder, name, content)| {
            let path = format!(r"{folder}\{name}.txt");
            file(&format!("file {path}"), &path, &content)
        }),
        ("[ABO]", "[a-c]{0,2}").prop_map(|(name, value)| {
            let name = name.replace('O', "Old");
            env(&format!("env {name}"), &name, &value)
        }),
        folder
            .clone()
            .prop_map(|path| exclusion(Exclusion::Path(path.to_owned()))),
        folder
            .clone()
            .prop_map(|path| exclusion(Exclusion::Process(format!(r"{path}\x.exe")))),
        folder.prop_map(|path| path_entry(&format!("path {path}"), path)),
        ("[ab]", "[ab]", any::<u32>()).prop_map(|(first, second, number)| {
            let key = format!(r"SOFTWARE\{first}\{second}");
            registry(
                &format!("registry {key}"),
                &key,
                RegistryData::Number(number),
            )
        }),
        ("[ab]", any::<bool>(), any::<u16>()).prop_map(|(name, old, port)| {
            let name = if old { "Old rule" } else { &name };
            rule(name, Protocol::Udp, port)
        }),
        any::<bool>().prop_map(|present| feature("Telnet", present)),
        "[ab]".prop_map(|name| hostname(&name)),
        (any::<bool>(), 1025..60_000_u16).prop_map(|(tcp, first)| {
            ports(if tcp { Protocol::Tcp } else { Protocol::Udp }, first)
        }),
        "[ab]".prop_map(|server| time_sync(&server)),
        prop_oneof![Just("s1"), Just("s2"), Just("kube-proxy")].prop_map(|name| service(
            name,
            Run::Running,
            &[],
            &[]
        )),
    ]
}

prop_compose! {
    /// Distinct steps, each perhaps after the one before.
    fn any_document()(steps in prop::collection::vec((any_step(), any::<bool>()), 1..12)) -> NodeDocument {
        let mut made: Vec<Step> = Vec::new();
        for (step, chained) in steps {
            if made.iter().any(|earlier| earlier.id == step.id) {
                continue;
            }
            let before = made.last().map(|earlier| earlier.id.to_string());
            made.push(match before {
                Some(before) if chained => with_after(step, &[&before]),
                _ => step,
            });
        }
        document(made)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn twice_is_once_and_removal_restores(first in any_document(), second in any_document()) {
        let mut rig = Rig::new(windows_host());
        let (outcome, events) = rig.converge(&first);
        prop_assert_eq!(outcome, Outcome::Done, "{:?}", failed(&events));
        let once = rig.sim.world();
        prop_assert_eq!(rig.converge(&first).0, Outcome::Done);
        prop_assert_eq!(rig.sim.world(), once);
        let (outcome, events) = rig.converge(&second);
        prop_assert_eq!(outcome, Outcome::Done, "{:?}", failed(&events));
        prop_assert_eq!(rig.remove(), Outcome::Done);
        prop_assert_eq!(rig.sim.world(), windows_host());
    }

    #[test]
    fn a_kill_anywhere_changes_nothing_about_the_end(document in any_document(), kills in prop::collection::vec(1..60_u64, 1..4)) {
        let wanted = {
            let mut rig = Rig::new(windows_host());
            rig.converge(&document);
            rig.sim.world()
        };
        let mut rig = Rig::new(windows_host());
        let order = rig.order(Task::Converge(document));
        let mut finished = false;
        for kill_at in kills {
            rig.sim.set_faults(Faults { kill_at: Some(kill_at), ..Faults::default() });
            finished = rig.carry_out(&order).is_some();
            if finished {
                break;
            }
        }
        rig.sim.set_faults(Faults::default());
        if !finished {
            prop_assert_eq!(rig.carry_out(&order).unwrap().0, Outcome::Done);
        }
        prop_assert_eq!(rig.sim.world(), wanted);
        prop_assert_eq!(rig.remove(), Outcome::Done);
        prop_assert_eq!(rig.sim.world(), windows_host());
    }
}
