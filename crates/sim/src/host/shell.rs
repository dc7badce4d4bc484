//! The few programs of a simulated Linux host that casement starts by name: `cat` for
//! reading over SSH, `ip link` as the agent's fallback.

use casement_node::platform::{Program, ProgramExit};
use casement_node::sim::{Sim, World};
use casement_resource::{LinkName, SysctlName};

use super::{agent, disk};

/// Exit code and output of a shell command line; `None` for an unknown command.
pub(crate) fn run_line(world: &World, line: &str) -> Option<(u32, String)> {
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

/// Exit code and output on a host whose CPU cannot run the agent.
pub(crate) fn run_without_agent(processor: &str, line: &str) -> Option<(u32, String)> {
    if agent::agent_hash(line).is_some() {
        let output = "cannot execute binary file: Exec format error\n";
        return Some((126, output.to_owned()));
    }
    let is_uname = line.ends_with("uname -s -m");
    is_uname.then(|| (0, format!("Linux {processor}\n")))
}

/// Runs `ip link show dev NAME` and `ip link delete dev NAME`.
pub(crate) fn run_ip_link(sim: &Sim, program: &Program) -> Option<ProgramExit> {
    let arguments: Vec<&str> = program.arguments.iter().map(String::as_str).collect();
    let ["ip", "link", verb, "dev", name] = arguments.as_slice() else {
        return None;
    };
    let link: LinkName = name.parse().ok()?;
    let mut exists = None;
    sim.modify_world(|world| {
        let links = world.linux.as_mut().map(|linux| &mut linux.links);
        exists = links.map(|links| match *verb {
            "delete" => links.remove(&link).is_some(),
            _ => links.contains_key(&link),
        });
    });
    let (code, output) = match (exists?, *verb) {
        (true, "show") => (0, format!("7: {name}: <BROADCAST,MULTICAST,UP>\n")),
        (true, _) => (0, String::new()),
        (false, "show") => (1, format!("Device \"{name}\" does not exist.\n")),
        (false, _) => (1, format!("Cannot find device \"{name}\"\n")),
    };
    Some(ProgramExit {
        code: Some(code),
        output,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bare_linux, bare_windows};

    #[test]
    fn cat_prints_sysctl_values_and_reports_missing_files() {
        let world = bare_linux("lin1", [127, 18, 0, 21].into());
        let forward = run_line(&world, "cat /proc/sys/net/ipv4/ip_forward");
        assert_eq!(forward, Some((0, "0\n".to_owned())));
        let (code, output) =
            run_line(&world, "cat /proc/sys/net/bridge/bridge-nf-call-iptables").unwrap();
        assert_eq!(code, 1);
        assert!(output.contains("No such file"), "{output}");
        assert_eq!(run_line(&world, "reboot"), None);
        let windows = bare_windows("win1", [127, 18, 0, 11].into());
        assert_eq!(run_line(&windows, "cat /etc/hosts"), None);
    }
}
