//! Property tests with random documents.

use std::collections::BTreeSet;

use casement_resource::wire::Outcome;
use casement_resource::{
    Exclusion, LinkType, NodeDocument, PackageState, Protocol, RegistryData, Resource, Run, Sha256,
    Step, UnitState,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::{Faults, Rig, Task, World, failed};
use crate::engine::documents::linux::{
    check, line, linux_host, module, network_link, package, swap_off, symlink, sysctl, unit,
};
use crate::engine::documents::{
    directory, document, env, exclusion, feature, file, hostname, path_entry, ports, registry,
    rule, secret_file, service, time_sync, windows_host,
};

mod groups;

use groups::{PROGRAM, linux_group, windows_group};

fn secret(path: &str) -> Step {
    secret_file(&format!("secret {path}"), path)
}

/// Few distinct values, so that steps share folders and keys.
fn windows_step() -> impl Strategy<Value = Step> {
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
        folder
            .clone()
            .prop_map(|folder| secret(&format!(r"{folder}\secret"))),
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

/// The same for Linux. No `file` step manages a file with managed lines.
fn linux_step() -> impl Strategy<Value = Step> {
    let folder = prop_oneof![Just("/etc"), Just("/a"), Just("/a/b")];
    let conf = folder.clone().prop_map(|folder| format!("{folder}/conf"));
    prop_oneof![
        folder
            .clone()
            .prop_map(|path| directory(&format!("directory {path}"), path)),
        (folder.clone(), "[a-c]{0,3}").prop_map(|(folder, content)| {
            let path = format!("{folder}/file");
            file(&format!("file {path}"), &path, &content)
        }),
        folder
            .clone()
            .prop_map(|folder| secret(&format!("{folder}/secret"))),
        (folder, "[a-c]{1,2}").prop_map(|(folder, to)| symlink(&format!("{folder}/link"), &to)),
        (conf.clone(), "[xyz]").prop_map(|(path, text)| line(&path, None, &text)),
        (conf, "[a-c]{1,2}").prop_map(|(path, rest)| line(&path, Some("key="), &rest)),
        "[xy]".prop_map(|name| check(&name)),
        prop_oneof![linux_kernel_step(), linux_managed_step()],
    ]
}

fn linux_kernel_step() -> impl Strategy<Value = Step> {
    let value = prop_oneof![Just("net.ipv4.ip_forward"), Just("vm.overcommit_memory")];
    let named = prop_oneof![Just("overlay"), Just("br_netfilter"), Just("bridge")];
    let mtu = prop_oneof![Just(None), Just(Some(1400)), Just(Some(1450))];
    let vxlan = (1..3_u32).prop_map(|id| LinkType::Vxlan {
        id,
        port: 4789,
        local: None,
    });
    let link = prop_oneof![Just(LinkType::Bridge), vxlan];
    prop_oneof![
        (value, "[012]").prop_map(|(name, value)| sysctl(name, &value)),
        named.prop_map(module),
        Just(swap_off()),
        (link, mtu.clone()).prop_map(|(link, mtu)| network_link("ours0", link, mtu)),
        mtu.prop_map(|mtu| network_link("theirs0", LinkType::Dummy, mtu)),
    ]
}

fn linux_managed_step() -> impl Strategy<Value = Step> {
    let state = prop_oneof![
        Just(PackageState::Installed),
        Just(PackageState::Absent),
        "[12]".prop_map(|major| PackageState::Version(format!("{major}.0-1").parse().unwrap())),
    ];
    let named = prop_oneof![
        Just("on.service"),
        Just("off.service"),
        Just("dev-sda2.swap")
    ];
    let off = prop_oneof![Just(UnitState::Off), Just(UnitState::Masked)];
    let any = prop_oneof![Just(UnitState::On), off.clone()];
    prop_oneof![
        (prop_oneof![Just("there"), Just("new")], state)
            .prop_map(|(name, state)| package(name, state)),
        (named, any).prop_map(|(name, state)| unit(name, state)),
        // A missing unit cannot be on.
        off.prop_map(|state| unit("none.service", state)),
    ]
}

/// A single step, or a group of steps that belong together.
fn windows_steps() -> impl Strategy<Value = Vec<Step>> {
    prop_oneof![
        2 => windows_step().prop_map(|step| vec![step]),
        1 => windows_group(),
    ]
}

fn linux_steps() -> impl Strategy<Value = Vec<Step>> {
    prop_oneof![
        4 => linux_step().prop_map(|step| vec![step]),
        1 => linux_group(),
    ]
}

/// Distinct steps, some of which depend on the step before.
fn any_document(steps: impl Strategy<Value = Vec<Step>>) -> impl Strategy<Value = NodeDocument> {
    prop::collection::vec((steps, any::<bool>()), 1..10).prop_map(|groups| {
        let mut distinct: Vec<Step> = Vec::new();
        for (steps, chained) in groups {
            for mut step in steps {
                if distinct.iter().any(|earlier| earlier.id == step.id) {
                    continue;
                }
                let before = distinct.last().map(|earlier| earlier.id.clone());
                let before = before.filter(|it| chained && !step.after.contains(it));
                step.after.extend(before);
                distinct.push(step);
            }
        }
        document(distinct)
    })
}

/// A host with the blob of the artifact.
fn rig(host: &World) -> Rig {
    let rig = Rig::new(host.clone());
    std::fs::write(rig.layout.blob(&Sha256::of(PROGRAM)), PROGRAM).unwrap();
    rig
}

/// The `kind` values of the steps.
fn kinds(document: &NodeDocument) -> BTreeSet<String> {
    let kind = |step: &Step| {
        let json = serde_json::to_value(&step.resource).unwrap();
        json["kind"].as_str().unwrap().to_owned()
    };
    document.steps().iter().map(kind).collect()
}

/// A kind that no random document has would not be tested.
#[test]
fn random_documents_have_every_kind_of_resource() {
    let mut runner = TestRunner::deterministic();
    let mut seen = BTreeSet::new();
    for _ in 0..400 {
        let windows = any_document(windows_steps()).new_tree(&mut runner).unwrap();
        let linux = any_document(linux_steps()).new_tree(&mut runner).unwrap();
        seen.extend(kinds(&windows.current()));
        seen.extend(kinds(&linux.current()));
    }
    // The error of serde for an unknown variant lists all variants.
    let unknown = serde_json::from_str::<Resource>(r#"{"kind": "?"}"#);
    let error = unknown.unwrap_err().to_string();
    let quoted = error.split('`').skip(1).step_by(2);
    let all: BTreeSet<String> = quoted.filter(|it| *it != "?").map(str::to_owned).collect();
    assert!(all.len() > 30, "{error}");
    assert_eq!(seen, all);
}

type Checked = Result<(), TestCaseError>;

fn check_idempotent(host: &World, first: &NodeDocument, second: &NodeDocument) -> Checked {
    let mut rig = rig(host);
    let (outcome, events) = rig.converge(first);
    prop_assert_eq!(outcome, Outcome::Done, "{:?}", failed(&events));
    let first_result = rig.sim.world();
    prop_assert_eq!(rig.converge(first).0, Outcome::Done);
    prop_assert_eq!(rig.sim.world(), first_result);
    let (outcome, events) = rig.converge(second);
    prop_assert_eq!(outcome, Outcome::Done, "{:?}", failed(&events));
    prop_assert_eq!(rig.remove(), Outcome::Done);
    prop_assert_eq!(&rig.sim.world(), host);
    Ok(())
}

fn check_kills(host: &World, document: NodeDocument, kills: Vec<u64>) -> Checked {
    let wanted = {
        let mut rig = rig(host);
        rig.converge(&document);
        rig.sim.world()
    };
    let mut rig = rig(host);
    let order = rig.order(Task::Converge(document));
    let mut finished = false;
    for kill_at in kills {
        rig.sim.set_faults(Faults {
            kill_at: Some(kill_at),
            ..Faults::default()
        });
        finished = rig.execute(&order).is_some();
        if finished {
            break;
        }
    }
    rig.sim.set_faults(Faults::default());
    if !finished {
        prop_assert_eq!(rig.execute(&order).unwrap().0, Outcome::Done);
    }
    prop_assert_eq!(rig.sim.world(), wanted);
    prop_assert_eq!(rig.remove(), Outcome::Done);
    prop_assert_eq!(&rig.sim.world(), host);
    Ok(())
}

fn kills() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(1..60_u64, 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn apply_is_idempotent_and_removal_restores(first in any_document(windows_steps()), second in any_document(windows_steps())) {
        check_idempotent(&windows_host(), &first, &second)?;
    }

    #[test]
    fn apply_is_idempotent_and_removal_restores_on_linux(first in any_document(linux_steps()), second in any_document(linux_steps())) {
        check_idempotent(&linux_host(), &first, &second)?;
    }

    #[test]
    fn killed_run_has_the_same_result(document in any_document(windows_steps()), kills in kills()) {
        check_kills(&windows_host(), document, kills)?;
    }

    #[test]
    fn killed_run_has_the_same_result_on_linux(document in any_document(linux_steps()), kills in kills()) {
        check_kills(&linux_host(), document, kills)?;
    }
}
