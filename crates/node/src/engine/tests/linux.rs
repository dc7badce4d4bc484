//! Failures on a Linux host, and foreign objects on it.

use casement_resource::wire::Outcome;
use casement_resource::{Code, LinkType, UnitState};

use super::{Rig, changed, document, failed, linux_full, linux_host};
use crate::engine::documents::linux::{
    BRIDGED, line, module, network_link, swap_off, symlink, sysctl, unit,
};
use crate::sim::{Faults, SimEntry};

#[test]
fn false_success_is_detected_on_linux() {
    for name in [
        "create_symlink",
        "write /etc/conf",
        "write /etc/fstab",
        "switch",
        "load_kernel_module",
        "set_sysctl",
        "swap_off",
        "install_package",
        "set_unit_enablement",
        "set_unit_running",
        "add_link",
        "set_link",
    ] {
        let mut rig = Rig::new(linux_host());
        rig.sim.set_faults(Faults {
            ignored: Some(name.to_owned()),
            ..Faults::default()
        });
        let (outcome, _) = rig.converge(&linux_full());
        assert_eq!(outcome, Outcome::Failed, "{name}");
    }
}

#[test]
fn foreign_objects_are_reported_and_kept() {
    let mut world = linux_host();
    let several = SimEntry::File(b"key=1\nkey=2\n".to_vec());
    let conf = "/etc/conf".parse().unwrap();
    world
        .entries
        .insert(conf, (several, "everybody".to_owned()));
    let mut rig = Rig::new(world.clone());
    let (outcome, events) = rig.converge(&document(vec![
        line("/etc/conf", Some("key="), "ours"),
        line("/etc", None, "x"),
        symlink("/etc/conf", "ours"),
        network_link("theirs0", LinkType::Bridge, None),
        sysctl(BRIDGED, "1"),
        unit("none.service", UnitState::On),
    ]));
    assert_eq!(outcome, Outcome::Failed);
    let failed = failed(&events);
    let code = |id: &str| failed[id].code;
    assert_eq!(code("line /etc/conf key="), Code::Foreign);
    assert_eq!(code("line /etc x"), Code::Foreign);
    assert_eq!(code("link /etc/conf"), Code::Foreign);
    assert_eq!(code("networkLink theirs0"), Code::Foreign);
    assert_eq!(code(&format!("sysctl {BRIDGED}")), Code::Unsupported);
    assert_eq!(code("unit none.service"), Code::Unsupported);
    assert_eq!(rig.remove(), Outcome::Done);
    assert_eq!(rig.sim.world(), world);
}

#[test]
fn later_changes_by_others_stay() {
    let mut rig = Rig::new(linux_host());
    rig.converge(&document(vec![
        module("br_netfilter"),
        swap_off(),
        line("/etc/new", None, "ours"),
        line("/etc/conf", Some("key="), "ours"),
    ]));
    rig.sim.modify_world(|world| {
        let file = |text: &str| {
            (
                SimEntry::File(text.as_bytes().to_vec()),
                "everybody".to_owned(),
            )
        };
        let mut put = |path: &str, text: &str| {
            world.entries.insert(path.parse().unwrap(), file(text));
        };
        put("/etc/new", "theirs\nours\n");
        put("/etc/conf", "key=changed\n");
        world.entries.remove(&"/swapfile".parse().unwrap());
        let linux = world.linux.as_mut().unwrap();
        linux.modules.insert("br_netfilter".parse().unwrap(), 1);
    });
    assert_eq!(rig.remove(), Outcome::Done);
    let world = rig.sim.world();
    let text = |path: &str| match &world.entries[&path.parse().unwrap()].0 {
        SimEntry::File(bytes) => String::from_utf8(bytes.clone()).unwrap(),
        other => panic!("{path} is {other:?}"),
    };
    assert_eq!(text("/etc/new"), "theirs\n");
    assert_eq!(text("/etc/conf"), "key=changed\n");
    let linux = world.linux.as_ref().unwrap();
    assert_eq!(linux.modules[&"br_netfilter".parse().unwrap()], 1);
    assert!(linux.swap.is_empty());
}

#[test]
fn swap_that_is_enabled_again_is_disabled_again() {
    let mut rig = Rig::new(linux_host());
    let off = document(vec![swap_off()]);
    rig.converge(&off);
    rig.sim.modify_world(|world| {
        let linux = world.linux.as_mut().unwrap();
        linux.swap.insert("/swapfile".parse().unwrap(), -2);
    });
    assert_eq!(changed(&rig.converge(&off).1), ["swap"]);
    assert_eq!(rig.remove(), Outcome::Done);
    assert_eq!(rig.sim.world(), linux_host());
}
