//! A Linux host and documents for it.

use std::collections::{BTreeMap, BTreeSet};

use casement_resource::wire::InterfaceFacts;
use casement_resource::{
    Answer, Check, Command, Enablement, KernelModule, Line, LinkType, NetworkLink, NodeDocument,
    ObservedLink, Package, PackageState, Resource, Step, SwapOff, Symlink, Sysctl, SystemdUnit,
    UnitState,
};

use super::{ADDRESS, directory, document, file, secret_file, step, with_after};
use crate::sim::{LinuxWorld, SimEntry, Unit, World};

/// Exists only while the module `br_netfilter` is loaded.
pub const BRIDGED: &str = "net.bridge.bridge-nf-call-iptables";

/// A host with foreign objects.
pub fn linux_host() -> World {
    let thing = |path: &str, thing: SimEntry| {
        let path = path.parse().unwrap();
        (path, (thing, "everybody".to_owned()))
    };
    let text = |text: &str| SimEntry::File(text.as_bytes().to_vec());
    World {
        entries: BTreeMap::from([
            thing("/etc", SimEntry::Directory),
            thing(
                "/etc/fstab",
                text("/dev/sda1 / ext4 defaults 0 1\n/swapfile none swap sw 0 0\n"),
            ),
            thing("/etc/conf", text("# theirs\nkey=theirs\nlast")),
            thing("/etc/link", SimEntry::Link("theirs".to_owned())),
            thing("/swapfile", text("")),
        ]),
        interfaces: vec![InterfaceFacts {
            index: 2,
            name: "eth0".to_owned(),
            addresses: vec![format!("{ADDRESS}/24").parse().unwrap()],
        }],
        forwarding: BTreeSet::new(),
        linux: Some(linux_world()),
        ..World::default()
    }
}

fn linux_world() -> LinuxWorld {
    let unit = |name: &str, file, running| {
        let unit = Unit {
            file: Some(file),
            masked: false,
            running,
        };
        (name.parse().unwrap(), unit)
    };
    let value = |name: &str, value: &str| (name.parse().unwrap(), value.to_owned());
    let theirs = ObservedLink {
        link: Some(LinkType::Dummy),
        mtu: 1400,
        up: false,
    };
    LinuxWorld {
        values: BTreeMap::from([
            value("net.ipv4.ip_forward", "0"),
            value("vm.overcommit_memory", "2"),
        ]),
        modules: BTreeMap::from([("bridge".parse().unwrap(), 1)]),
        swap: BTreeMap::from([("/swapfile".parse().unwrap(), -2)]),
        packages: BTreeMap::from([("there".parse().unwrap(), "1.0-1".parse().unwrap())]),
        units: BTreeMap::from([
            unit("on.service", Enablement::Enabled, true),
            unit("off.service", Enablement::Disabled, false),
            unit("dev-sda2.swap", Enablement::Fixed, true),
        ]),
        links: BTreeMap::from([("theirs0".parse().unwrap(), theirs)]),
        switches: BTreeMap::new(),
    }
}

pub fn symlink(path: &str, target: &str) -> Step {
    step(
        &format!("link {path}"),
        Resource::Symlink(Symlink {
            path: path.parse().unwrap(),
            target: target.to_owned(),
        }),
    )
}

pub fn line(path: &str, prefix: Option<&str>, rest: &str) -> Step {
    step(
        &format!("line {path} {}", prefix.unwrap_or(rest)),
        Resource::Line(Line {
            path: path.parse().unwrap(),
            prefix: prefix.map(|prefix| prefix.parse().unwrap()),
            rest: rest.parse().unwrap(),
        }),
    )
}

pub fn check(name: &str) -> Step {
    let switch = |arguments: &[&str]| Command {
        program: "switch".to_owned(),
        arguments: arguments.iter().map(|it| (*it).to_owned()).collect(),
    };
    step(
        &format!("check {name}"),
        Resource::Check(Check {
            name: name.to_owned(),
            ask: switch(&[name]),
            wanted: Answer::Is("on".to_owned()),
            act: switch(&[name, "on"]),
            undo: Some(switch(&[name, "off"])),
            folder: "/".parse().unwrap(),
            timeout_seconds: 5,
        }),
    )
}

pub fn sysctl(name: &str, value: &str) -> Step {
    step(
        &format!("sysctl {name}"),
        Resource::Sysctl(Sysctl {
            name: name.parse().unwrap(),
            value: value.to_owned(),
        }),
    )
}

pub fn module(name: &str) -> Step {
    step(
        &format!("module {name}"),
        Resource::KernelModule(KernelModule {
            name: name.parse().unwrap(),
        }),
    )
}

pub fn swap_off() -> Step {
    step("swap", Resource::Swap(SwapOff {}))
}

pub fn package(name: &str, state: PackageState) -> Step {
    step(
        &format!("package {name}"),
        Resource::Package(Package {
            name: name.parse().unwrap(),
            state,
        }),
    )
}

pub fn unit(name: &str, state: UnitState) -> Step {
    step(
        &format!("unit {name}"),
        Resource::SystemdUnit(SystemdUnit {
            name: name.parse().unwrap(),
            state,
        }),
    )
}

pub fn network_link(name: &str, link: LinkType, mtu: Option<u32>) -> Step {
    step(
        &format!("networkLink {name}"),
        Resource::NetworkLink(NetworkLink {
            name: name.parse().unwrap(),
            link,
            mtu,
        }),
    )
}

/// All kinds for Linux.
pub fn linux_full() -> NodeDocument {
    let vxlan = LinkType::Vxlan {
        id: 4096,
        port: 4789,
        local: Some(ADDRESS.parse().unwrap()),
    };
    document(vec![
        directory("folder", "/etc/kubernetes"),
        file("file", "/etc/modules-load.d/casement.conf", "overlay\n"),
        secret_file("account", "/etc/casement/account.toml"),
        symlink("/etc/link", "ours"),
        symlink("/run/deep/link", "../x"),
        line("/etc/conf", Some("key="), "ours"),
        line("/etc/conf", None, "one more"),
        line("/etc/new/conf", None, "only"),
        check("x"),
        module("overlay"),
        module("br_netfilter"),
        with_after(sysctl(BRIDGED, "1"), &["module br_netfilter"]),
        sysctl("vm.overcommit_memory", "1"),
        swap_off(),
        package("new", PackageState::Installed),
        package("there", PackageState::Version("2.0-1".parse().unwrap())),
        unit("on.service", UnitState::Masked),
        unit("off.service", UnitState::On),
        unit("dev-sda2.swap", UnitState::Off),
        unit("none.service", UnitState::Masked),
        network_link("vx0", vxlan, Some(1450)),
        network_link("theirs0", LinkType::Dummy, Some(1450)),
    ])
}
