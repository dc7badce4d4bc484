//! Kernel values, modules, swap and the dummy link.

use casement_resource::{
    Code, KernelModule, KernelModuleFacts, LinkType, NetworkLink, Prior, Resource, SwapOff, Sysctl,
};

use super::{Host, Secrets};
use crate::kinds;
use crate::platform::{Kernel, Swaps};

fn sysctl(name: &str, value: &str) -> Resource {
    Resource::Sysctl(Sysctl {
        name: name.parse().unwrap(),
        value: value.to_owned(),
    })
}

#[test]
fn kernel_value_is_set_and_restored() {
    let host = Host::new();
    let path = "proc/sys/net/ipv4/ip_local_port_range";
    host.write(path, "32768\t60999\n");
    let range = sysctl("net.ipv4.ip_local_port_range", "1024 65000");
    let prior = host.apply(&range);
    assert_eq!(prior, Prior::Sysctl("32768\t60999".to_owned()));
    assert_eq!(host.read(path), "1024 65000");
    host.undo(&range, &prior);
    assert_eq!(host.read(path), "32768\t60999");

    let absent = sysctl("net.bridge.bridge-nf-call-iptables", "1");
    let secrets = Secrets::new();
    let failure = kinds::prior(&host.context(&secrets), &absent).unwrap_err();
    assert_eq!(failure.code, Code::Unsupported);
    kinds::undo(
        &host.context(&secrets),
        &absent,
        &Prior::Sysctl("0".to_owned()),
    )
    .unwrap();
    let name = "net.bridge.bridge-nf-call-iptables".parse().unwrap();
    assert!(host.linux.set_sysctl(&name, "1").is_err());
    assert_eq!(host.linux.sysctl(&name).unwrap(), None);
}

fn module(name: &str) -> Resource {
    Resource::KernelModule(KernelModule {
        name: name.parse().unwrap(),
    })
}

/// With fakes for `modprobe`, `rmmod` and `/proc/modules`.
#[test]
fn module_is_loaded_and_unloaded_unless_in_use() {
    let host = Host::new();
    let list = "proc/modules";
    host.write(list, "bridge 311296 1 - Live 0x0\n");
    host.program(
        "modprobe",
        r#"[ "$1" = -- ]; echo "$(echo "$2" | tr - _) 4096 0 - Live 0x0" >>"$ROOT/proc/modules""#,
    );
    host.program(
        "rmmod",
        r#"[ "$1" = -- ]; sed -i "/^$2 /d" "$ROOT/proc/modules""#,
    );
    assert!(host.in_sync(&module("bridge")));
    let resource = module("br_netfilter");
    let prior = host.apply(&resource);
    assert_eq!(prior, Prior::KernelModule(false));
    host.undo(&resource, &prior);
    assert_eq!(host.read(list), "bridge 311296 1 - Live 0x0\n");

    let prior = host.apply(&resource);
    let used = "br_netfilter 4096 1 xt_physdev, Live 0x0\n";
    host.write(list, used);
    host.undo(&resource, &prior);
    assert_eq!(host.read(list), used);
    host.undo(&resource, &Prior::KernelModule(true));
    assert_eq!(host.read("calls").matches("rmmod").count(), 1);
}

#[test]
fn built_in_modules_are_detected() {
    let host = Host::new();
    let facts = |name: &str| host.linux.kernel_module(&name.parse().unwrap()).unwrap();
    assert_eq!(facts("overlay"), KernelModuleFacts::Unknown);
    host.write("sys/module/overlay/parameters/metacopy", "N");
    assert_eq!(facts("overlay"), KernelModuleFacts::BuiltIn);
    host.write("proc/modules", "zram 4096 - - Live 0x0\n");
    assert_eq!(facts("br-netfilter"), KernelModuleFacts::Absent);
    let release = rustix::system::uname();
    let release = release.release().to_str().unwrap();
    let list = format!("lib/modules/{release}/modules.builtin");
    host.write(&list, "kernel/net/bridge/br_netfilter.ko\n");
    assert_eq!(facts("br-netfilter"), KernelModuleFacts::BuiltIn);
    assert_eq!(facts("zram"), KernelModuleFacts::Loaded { users: 1 });
}

const HEADER: &str = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n";
const TABLE: &str = "UUID=1 / ext4 defaults 0 1\n/swap/file none swap sw 0 0\n";

/// With fakes for `swapon`, `swapoff` and `/proc/swaps`.
#[test]
fn swap_is_turned_off_permanently_and_restored() {
    let host = Host::new();
    let area = host.root().join("swapfile").display().to_string();
    let gone = host.root().join("gone").display().to_string();
    let before = format!("{HEADER}{area} file\t\t1024\t\t0\t\t5\n{gone} file\t\t1024\t\t0\t\t-2\n");
    host.write("swapfile", "");
    host.write("proc/swaps", &before);
    host.write("etc/fstab", TABLE);
    host.program(
        "swapoff",
        r#"[ "$1" = -- ]; grep -v "^$2 " "$ROOT/proc/swaps" >"$ROOT/new"; mv "$ROOT/new" "$ROOT/proc/swaps""#,
    );
    host.program(
        "swapon",
        r#"p=-2; if [ "$1" = --priority ]; then p=$2; shift 2; fi; [ "$1" = -- ]
           printf '%s file\t\t1024\t\t0\t\t%s\n' "$2" "$p" >>"$ROOT/proc/swaps""#,
    );
    let off = Resource::Swap(SwapOff {});
    let prior = host.apply(&off);
    assert_eq!(host.read("proc/swaps"), HEADER);
    let table = "UUID=1 / ext4 defaults 0 1\n#casement-swap-off# /swap/file none swap sw 0 0\n";
    assert_eq!(host.read("etc/fstab"), table);

    // An area that is turned on meanwhile is recorded too.
    host.write(
        "proc/swaps",
        &format!("{HEADER}/dev/zram0 partition 1 0 100\n"),
    );
    let secrets = Secrets::new();
    let Prior::Swap(areas) = kinds::extend(&host.context(&secrets), &off, &prior).unwrap() else {
        panic!("the prior state is not of swap");
    };
    assert_eq!(areas.len(), 3);

    host.write("proc/swaps", HEADER);
    host.undo(&off, &prior);
    assert_eq!(host.read("etc/fstab"), TABLE);
    let after = format!("{HEADER}{area} file\t\t1024\t\t0\t\t5\n");
    assert_eq!(host.read("proc/swaps"), after);
}

/// A kernel without swap, and a system without fstab.
#[test]
fn swap_is_off_on_a_host_without_swap() {
    let host = Host::new();
    assert_eq!(host.linux.swap_areas().unwrap(), []);
    assert!(host.in_sync(&Resource::Swap(SwapOff {})));
}

/// With a fake `ip`: not every kernel has dummy links. Bridges and VXLAN links are real
/// in `tests/channel`.
#[test]
fn dummy_link_is_created_and_deleted() {
    let host = Host::new();
    host.write("links", "[]");
    host.program(
        "ip",
        r#"case "$*" in
           '-json -details link show') cat "$ROOT/links" ;;
           'link add name d0 type dummy')
             echo '[{"ifname":"d0","mtu":1500,"flags":[],"linkinfo":{"info_kind":"dummy"}}]' >"$ROOT/links" ;;
           'link set dev d0 up') sed -i 's/"flags":\[\]/"flags":["UP"]/' "$ROOT/links" ;;
           'link delete dev d0') echo '[]' >"$ROOT/links" ;;
           *) exit 1 ;;
           esac"#,
    );
    let link = Resource::NetworkLink(NetworkLink {
        name: "d0".parse().unwrap(),
        link: LinkType::Dummy,
        mtu: None,
    });
    let prior = host.apply(&link);
    assert_eq!(prior, Prior::NetworkLink(None));
    host.undo(&link, &prior);
    assert_eq!(host.read("links"), "[]\n");
}
