//! The lab's network on this machine: a bridge, and walls around it.
//!
//! Each lab has a /24 of 198.18.0.0/15 (set aside for tests by RFC 2544) on a
//! bridge of its own. Two walls keep its packets in: a blackhole route below
//! the whole range, for what goes to a host that is down, and a routing rule
//! for what comes from the bridge and wants to go on.

pub mod adapters;
pub mod hns;
pub mod netd;

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::command::{self, command};
use crate::host::capsule::Capsule;
use crate::problem::{Problem, Result};
use crate::state::record::{Host, HostKind, Record};

/// The range that all labs share.
const RANGE: &str = "198.18.0.0/15";
/// A number of our own for rules and tables: 198.18 and the slot.
const TABLES: u32 = 19_800;
/// Later than any route that somebody else may have for the range.
const LAST_METRIC: &str = "4278198272";

/// The bridge of a lab.
pub fn bridge(slot: u8) -> String {
    format!("cas{slot}")
}

/// The name of a host's network device inside the host.
pub fn nic(kind: HostKind) -> &'static str {
    match kind {
        HostKind::Windows(_) => "Ethernet",
        HostKind::Linux | HostKind::ControlPlane => "eth0",
    }
}

/// Takes the first /24 that no lab of this machine has, and writes it down
/// before it is acted upon.
pub fn settle(record: &mut Record, lab: &Path) -> Result<()> {
    for slot in 0..=u8::MAX {
        if exists(&bridge(slot)) {
            continue;
        }
        record.slot = slot;
        record.save(lab)?;
        // Somebody else may have been faster: then it is theirs.
        if make_bridge(slot, lab).is_ok() {
            return Ok(());
        }
    }
    Err(Problem::new(
        "CAS-LAB-017",
        "no network is left for this lab: all 256 are taken",
        "take a lab down that is not needed: `ip link show type bridge` lists them as cas0, cas1 …",
    ))
}

/// Makes the lab's bridge and walls; making them twice is making them once.
pub fn raise(record: &Record, lab: &Path) -> Result<()> {
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
            format!("the bridge `{bridge}` belongs to another lab"),
            "casement lab down, then up again: it takes another network",
        ));
    }
    // No addresses of its own making on the machine's side.
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

/// The bridge is made with an address that tells whose it is, in one step.
fn make_bridge(slot: u8, lab: &Path) -> Result<()> {
    let (bridge, mark) = (bridge(slot), mark(lab));
    ip(["link", "add", &bridge, "address", &mark, "type", "bridge"])
}

fn is_ours(slot: u8, lab: &Path) -> bool {
    let path = format!("/sys/class/net/{}/address", bridge(slot));
    fs::read_to_string(path).is_ok_and(|address| address.trim() == mark(lab))
}

/// A locally administered address from the lab's folder.
fn mark(lab: &Path) -> String {
    let hash = Sha256::digest(lab.as_os_str().as_encoded_bytes());
    let [a, b, c, d, e] = [hash[0], hash[1], hash[2], hash[3], hash[4]];
    format!("02:{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}")
}

/// Takes the bridge and the lab's wall away, and with the last lab of the
/// machine the wall of all labs.
pub fn lower(record: &Record, lab: &Path) -> Result<()> {
    if !is_ours(record.slot, lab) {
        return Ok(());
    }
    let bridge = bridge(record.slot);
    for host in &record.hosts {
        unplug(&cable(record, host))?;
    }
    remove_rule(record.slot);
    // Absent where `up` was killed early: then there is nothing to flush.
    let table = table(record.slot);
    command::succeeds(&mut command("ip", ["route", "flush", "table", &table]));
    ip(["link", "delete", &bridge])?;
    if !(0..=u8::MAX).any(|slot| exists(&self::bridge(slot))) {
        let route = ["route", "delete", "blackhole", RANGE, "metric", LAST_METRIC];
        command::succeeds(&mut command("ip", route));
    }
    Ok(())
}

fn cable(record: &Record, host: &Host) -> String {
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

/// Takes a cable away. The kernel does that too with those of ended hosts, but
/// at a moment of its own: a cable that is gone by the time `ip` asks is gone.
fn unplug(cable: &str) -> Result<()> {
    if !exists(cable) {
        return Ok(());
    }
    ip(["link", "delete", cable]).or_else(|problem| match exists(cable) {
        true => Err(problem),
        false => Ok(()),
    })
}

/// Connects a capsule: a cable to the bridge, an address, a way out that ends
/// at the wall (so that programs which look for a default route find one).
pub fn plug(record: &Record, host: &Host, capsule: &Capsule) -> Result<()> {
    let cable = cable(record, host);
    let nic = nic(host.kind);
    // Microsoft's prefix: Windows' virtual NICs have it.
    let mac = format!("00:15:5d:12:{:02x}:{:02x}", record.slot, host.number);
    unplug(&cable)?;
    #[rustfmt::skip]
    ip(["link", "add", &cable, "type", "veth",
        "peer", "name", nic, "address", &mac, "netns", &capsule.pid_text()])?;
    ip(["link", "set", &cable, "master", &bridge(record.slot), "up"])?;
    configure(capsule, nic, record.address(host), record.gateway())
}

fn configure(capsule: &Capsule, nic: &str, address: Ipv4Addr, gateway: Ipv4Addr) -> Result<()> {
    let inside = |arguments: &[&str]| {
        let pid = capsule.pid_text();
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
