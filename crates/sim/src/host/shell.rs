//! The few programs of a simulated Linux host that casement starts by name: `cat`
//! for a look over SSH, `ip link` for the agent's last resort.

use casement_node::platform::{Ended, Program};
use casement_node::sim::{Sim, World};
use casement_resource::{LinkName, SysctlName};

use super::{agent, disk};

/// What a line typed into a host's shell gives: its exit code, and what it writes.
/// None for what the host does not have.
pub(crate) fn said(world: &World, line: &str) -> Option<(u32, String)> {
    let linux = world.linux.as_ref()?;
    let path = line.trim().strip_prefix("cat ")?.trim();
    let text = match path.strip_prefix("/proc/sys/") {
        Some(name) => {
            let name: Option<SysctlName> = name.replace('/', ".").parse().ok();
            let value = name.and_then(|name| linux.values.get(&name));
            value.map(|value| format!("{value}\n"))
        }
        None => disk::text(world, path),
    };
    Some(match text {
        Some(text) => (0, text),
        None => (1, format!("cat: {path}: No such file or directory\n")),
    })
}

/// What the shell of a host says whose processor runs no agent: what the host is, and
/// that it cannot.
pub(crate) fn said_on(processor: &str, line: &str) -> Option<(u32, String)> {
    if agent::named_in(line).is_some() {
        let said = "cannot execute binary file: Exec format error\n";
        return Some((126, said.to_owned()));
    }
    let asked = line.ends_with("uname -s -m");
    asked.then(|| (0, format!("Linux {processor}\n")))
}

/// Runs `ip link show dev NAME` and `ip link delete dev NAME`.
pub(crate) fn run(sim: &Sim, program: &Program) -> Option<Ended> {
    let words: Vec<&str> = program.arguments.iter().map(String::as_str).collect();
    let ["ip", "link", verb, "dev", name] = words.as_slice() else {
        return None;
    };
    let link: LinkName = name.parse().ok()?;
    let mut there = None;
    sim.meddle(|world| {
        let links = world.linux.as_mut().map(|linux| &mut linux.links);
        there = links.map(|links| match *verb {
            "delete" => links.remove(&link).is_some(),
            _ => links.contains_key(&link),
        });
    });
    let (code, output) = match (there?, *verb) {
        (true, "show") => (0, format!("7: {name}: <BROADCAST,MULTICAST,UP>\n")),
        (true, _) => (0, String::new()),
        (false, "show") => (1, format!("Device \"{name}\" does not exist.\n")),
        (false, _) => (1, format!("Cannot find device \"{name}\"\n")),
    };
    Some(Ended {
        code: Some(code),
        output,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bare_linux, bare_windows};

    #[test]
    fn a_look_shows_values_of_the_kernel_and_what_is_not_there() {
        let world = bare_linux("lin1", [127, 18, 0, 21].into());
        let forward = said(&world, "cat /proc/sys/net/ipv4/ip_forward");
        assert_eq!(forward, Some((0, "0\n".to_owned())));
        let (code, why) = said(&world, "cat /proc/sys/net/bridge/bridge-nf-call-iptables").unwrap();
        assert_eq!(code, 1);
        assert!(why.contains("No such file"), "{why}");
        assert_eq!(said(&world, "reboot"), None);
        let windows = bare_windows("win1", [127, 18, 0, 11].into());
        assert_eq!(said(&windows, "cat /etc/hosts"), None);
    }
}
