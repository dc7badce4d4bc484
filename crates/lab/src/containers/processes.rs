//! Which processes belong to a container, what they use, and their end.
//!
//! Wine forks twice for each Windows process and starts services through its
//! own service manager, so neither parents nor process groups tell what
//! belongs together. The environment does: every process of a prefix, its Wine
//! server included, was started with the variables of the first.

use std::fs;
use std::time::Duration;

use lab_wire::container::Usage;
use rustix::process::{Pid, Signal, kill_process};

use super::ContainerError;
use crate::wait;

/// How long a killed process may take to be gone.
const PATIENCE: Duration = Duration::from_secs(10);

/// The processes that carry `NAME=value` in their first environment.
pub(super) fn members(marker: &str) -> Vec<u32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| carries(*pid, marker))
        .collect()
}

fn carries(pid: u32, marker: &str) -> bool {
    // A process that has ended, or is not ours to read, carries nothing.
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment
        .split(|byte| *byte == 0)
        .any(|entry| entry == marker.as_bytes())
}

/// Ends them all, those that appear meanwhile too, and sees them gone.
pub(super) fn end(marker: &str) -> Result<(), ContainerError> {
    let mut left = Vec::new();
    let gone = wait::until(PATIENCE, || {
        left = members(marker);
        for pid in &left {
            let pid = i32::try_from(*pid).ok().and_then(Pid::from_raw);
            // One that has ended since needs no signal.
            let _ = pid.map(|pid| kill_process(pid, Signal::KILL));
        }
        left.is_empty().then_some(())
    });
    gone.ok_or(ContainerError::Immortal(left))
}

/// What they use together.
pub(super) fn usage(marker: &str) -> Usage {
    let mut usage = Usage {
        pids: members(marker),
        ..Usage::default()
    };
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    for pid in &usage.pids {
        let (user, kernel) = ticks(*pid).unwrap_or_default();
        usage.user_ns += user * tick_ns;
        usage.kernel_ns += kernel * tick_ns;
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let private = bytes(&status, "RssAnon:");
        usage.private_working_set_bytes += private;
        usage.commit_bytes += private + bytes(&status, "VmSwap:");
    }
    usage
}

/// User and kernel time of a process, from the numbers behind its name.
fn ticks(pid: u32) -> Option<(u64, u64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, numbers) = stat.rsplit_once(") ")?;
    let mut numbers = numbers.split(' ').skip(11);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// A line such as `RssAnon:   1234 kB`.
fn bytes(status: &str, name: &str) -> u64 {
    status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok())
        .map_or(0, |kilobytes| kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_is_known_by_its_environment_and_ends() {
        let name = format!("CASEMENT_TEST_{}", std::process::id());
        let mut child = Command::new("sleep")
            .arg("600")
            .env(&name, "1")
            .spawn()
            .unwrap();
        let marker = format!("{name}=1");
        wait::until(PATIENCE, || {
            (members(&marker) == [child.id()]).then_some(())
        })
        .unwrap();
        assert_eq!(usage(&marker).pids, [child.id()]);

        // A zombie has no environment any more, so it need not be reaped first.
        end(&marker).unwrap();
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn status_lines_are_kilobytes() {
        assert_eq!(
            bytes("Name:\tx\nRssAnon:\t      12 kB\n", "RssAnon:"),
            12 * 1024
        );
        assert_eq!(bytes("Name:\tx\n", "RssAnon:"), 0);
    }
}
