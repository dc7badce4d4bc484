//! The lab's network on this machine: an isolated bridge.
//!
//! Each lab has a bridge with a /24 of 198.18.0.0/15 (reserved for tests by RFC
//! 2544). Two measures keep its packets inside: a low-priority blackhole route for
//! the whole range, which catches packets to a host that is down, and a routing
//! rule that rejects packets from the bridge to other networks.

pub mod adapters;
pub mod hns;
pub mod netd;

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::command::{self, command};
use crate::host::instance::Instance;
use crate::problem::{Problem, Result};
use crate::state::paths::{lab_name, recreate};
use crate::state::record::{Host, HostKind, Record};

/// The range of all labs.
const RANGE: &str = "198.18.0.0/15";
/// Base number of routing tables and rule priorities; the slot is added.
const TABLES: u32 = 19_800;
/// Lower priority than any other route for the range.
const LAST_METRIC: &str = "4278198272";

pub fn bridge(slot: u8) -> String {
    format!("cas{slot}")
}

pub fn nic(kind: HostKind) -> &'static str {
    match kind {
        HostKind::Windows(_) => "Ethernet",
        HostKind::Linux | HostKind::ControlPlane => "eth0",
    }
}

/// Allocates the first free /24 and saves it in the record before the bridge is
/// created.
pub fn allocate(record: &mut Record, lab: &Path) -> Result<()> {
    first_free(
        |slot| exists(&bridge(slot)),
        |slot| {
            record.slot = slot;
            record.save(lab)?;
            make_bridge(slot, lab)
        },
    )
}

fn first_free(taken: impl Fn(u8) -> bool, mut take: impl FnMut(u8) -> Result<()>) -> Result<()> {
    for slot in 0..=u8::MAX {
        if taken(slot) {
            continue;
        }
        match take(slot) {
            Ok(()) => return Ok(()),
            // Another lab took it in the meantime.
            Err(_) if taken(slot) => {}
            Err(problem) => return Err(problem),
        }
    }
    Err(Problem::new(
        "CAS-LAB-017",
        "no free network for this lab: all 256 are in use",
        "remove a lab that is no longer needed; `ip link show type bridge` lists them as cas0, cas1 …",
    ))
}

/// Creates the bridge, the routes and the rule; idempotent.
pub fn set_up(record: &Record, lab: &Path) -> Result<()> {
    let bridge = bridge(record.slot);
    ip([
        "route",
        "replace",
        "blackhole",
        RANGE,
        "metric",
        LAST_METRIC,
    ])?;
    if !exists(&bridge) {
        make_bridge(record.slot, lab)?;
    }
    if !is_ours(record.slot, lab) {
        return Err(Problem::new(
            "CAS-LAB-019",
            format!("bridge `{bridge}` belongs to another lab"),
            format!("{} to get another network", recreate(&lab_name(lab))),
        ));
    }
    // No link-local addresses on the bridge.
    let _ = fs::write(
        format!("/proc/sys/net/ipv6/conf/{bridge}/disable_ipv6"),
        "1",
    );
    let address = format!("{}/24", record.gateway());
    ip(["address", "replace", &address, "dev", &bridge])?;
    ip(["link", "set", &bridge, "up"])?;
    let table = table(record.slot);
    ip([
        "route",
        "replace",
        "unreachable",
        "default",
        "table",
        &table,
    ])?;
    remove_rule(record.slot);
    ip([
        "rule", "add", "iif", &bridge, "lookup", &table, "priority", &table,
    ])
}

/// The MAC address identifies the lab that owns the bridge. It is set on creation,
/// so there is never a bridge without an owner.
fn make_bridge(slot: u8, lab: &Path) -> Result<()> {
    let (bridge, mac) = (bridge(slot), owner_mac(lab));
    let made = ip(["link", "add", &bridge, "address", &mac, "type", "bridge"]);
    made.map_err(|problem| Problem {
        code: "CAS-LAB-026".into(),
        what: format!("failed to create the bridge `{bridge}`"),
        help: "run `modprobe bridge`; in a container, add the right to change its network"
            .to_owned(),
        ..problem
    })
}

fn is_ours(slot: u8, lab: &Path) -> bool {
    let path = format!("/sys/class/net/{}/address", bridge(slot));
    fs::read_to_string(path).is_ok_and(|address| address.trim() == owner_mac(lab))
}

/// A locally administered MAC address derived from the lab's directory.
fn owner_mac(lab: &Path) -> String {
    let hash = Sha256::digest(lab.as_os_str().as_encoded_bytes());
    let [a, b, c, d, e] = [hash[0], hash[1], hash[2], hash[3], hash[4]];
    format!("02:{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}")
}

/// Removes the bridge and the rule, and with the last lab the blackhole route. The bridge
/// is found by its owner: the record may be unreadable.
pub fn tear_down(lab: &Path) -> Result<()> {
    for slot in (0..=u8::MAX).filter(|slot| is_ours(*slot, lab)) {
        remove(slot)?;
    }
    Ok(())
}

fn remove(slot: u8) -> Result<()> {
    let bridge = bridge(slot);
    for device in ports(&bridge) {
        remove_veth(&device)?;
    }
    remove_rule(slot);
    // Fails if `up` was killed before it created the table.
    let table = table(slot);
    command::succeeds(&mut command("ip", ["route", "flush", "table", &table]));
    ip(["link", "delete", &bridge])?;
    if !(0..=u8::MAX).any(|slot| exists(&self::bridge(slot))) {
        let route = ["route", "delete", "blackhole", RANGE, "metric", LAST_METRIC];
        command::succeeds(&mut command("ip", route));
    }
    Ok(())
}

/// The network devices of hosts on this machine, whether or not they are connected to the
/// bridge.
fn ports(bridge: &str) -> Vec<String> {
    let prefix = format!("{bridge}-");
    let devices = fs::read_dir("/sys/class/net")
        .into_iter()
        .flatten()
        .flatten();
    let names = devices.map(|device| device.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(&prefix)).collect()
}

fn veth(record: &Record, host: &Host) -> String {
    format!("{}-{}", bridge(record.slot), host.number)
}

fn remove_rule(slot: u8) {
    let table = table(slot);
    while command::succeeds(&mut command("ip", ["rule", "delete", "priority", &table])) {}
}

fn table(slot: u8) -> String {
    (TABLES + u32::from(slot)).to_string()
}

fn exists(device: &str) -> bool {
    fs::exists(format!("/sys/class/net/{device}")).unwrap_or(false)
}

fn ip<const N: usize>(arguments: [&str; N]) -> Result<()> {
    command::run(&mut command("ip", arguments))
}

/// The kernel removes the veth of a stopped host asynchronously, so it may
/// disappear between the check and the deletion.
fn remove_veth(name: &str) -> Result<()> {
    if !exists(name) {
        return Ok(());
    }
    ip(["link", "delete", name]).or_else(|problem| match exists(name) {
        true => Err(problem),
        false => Ok(()),
    })
}

/// Connects a host to the bridge and gives it an address and a default route. The
/// default route leads nowhere, but some programs require one.
pub fn connect(record: &Record, host: &Host, instance: &Instance) -> Result<()> {
    let veth = veth(record, host);
    let nic = nic(host.kind);
    // 00:15:5d is the Hyper-V prefix.
    let mac = format!("00:15:5d:12:{:02x}:{:02x}", record.slot, host.number);
    remove_veth(&veth)?;
    #[rustfmt::skip]
    ip(["link", "add", &veth, "type", "veth",
        "peer", "name", nic, "address", &mac, "netns", &instance.pid_text()])?;
    ip(["link", "set", &veth, "master", &bridge(record.slot), "up"])?;
    configure(instance, nic, record.address(host), record.gateway())
}

fn configure(instance: &Instance, nic: &str, address: Ipv4Addr, gateway: Ipv4Addr) -> Result<()> {
    let inside = |arguments: &[&str]| {
        let pid = instance.pid_text();
        let mut command = command("nsenter", ["--target", &pid, "--net", "--", "ip"]);
        command::run(command.args(arguments))
    };
    let address = format!("{address}/24");
    let gateway = gateway.to_string();
    inside(&["link", "set", "lo", "up"])?;
    inside(&["address", "add", &address, "dev", nic])?;
    inside(&["link", "set", nic, "up"])?;
    inside(&["route", "add", "default", "via", &gateway, "dev", nic])
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn denied() -> Problem {
        Problem::new("CAS-LAB-026", "failed to create the bridge `cas0`", "help")
    }

    #[test]
    fn kernel_without_bridges_is_not_reported_as_no_free_network() {
        let problem = first_free(|_| false, |_| Err(denied())).unwrap_err();
        assert_eq!(problem.code, "CAS-LAB-026");
        let problem = first_free(|_| true, |_| Ok(())).unwrap_err();
        assert_eq!(problem.code, "CAS-LAB-017");
    }

    #[test]
    fn slot_that_another_lab_takes_meanwhile_is_skipped() {
        let taken = RefCell::new(vec![0]);
        let take = |slot| {
            taken.borrow_mut().push(slot);
            if slot == 1 { Err(denied()) } else { Ok(()) }
        };
        first_free(|slot| taken.borrow().contains(&slot), take).unwrap();
        assert_eq!(*taken.borrow(), [0, 1, 2]);
    }
}
