//! Finds, measures and kills the processes of a container.
//!
//! Wine forks twice for each Windows process and starts services through its own
//! service manager, so neither parent processes nor process groups identify a
//! container. The environment does: every process of a prefix, including its Wine
//! server, inherits the variables of the first.

use std::fs;
use std::time::Duration;

use lab_wire::container::Usage;
use rustix::process::{Pid, Signal, kill_process};

use super::ContainerError;
use crate::wait;

const KILL_TIMEOUT: Duration = Duration::from_secs(10);

/// The processes with `NAME=value` in their initial environment.
pub(super) fn find(marker: &str) -> Vec<u32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| has_marker(*pid, marker))
        .collect()
}

fn has_marker(pid: u32, marker: &str) -> bool {
    // Not readable if the process has ended or belongs to another user.
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment
        .split(|byte| *byte == 0)
        .any(|entry| entry == marker.as_bytes())
}

/// Kills all of them, including new ones, and waits until they have ended.
pub(super) fn kill(marker: &str) -> Result<(), ContainerError> {
    let mut left = Vec::new();
    let ended = wait::until(KILL_TIMEOUT, || {
        left = find(marker);
        for pid in &left {
            let pid = i32::try_from(*pid).ok().and_then(Pid::from_raw);
            // The process may have ended in the meantime.
            let _ = pid.map(|pid| kill_process(pid, Signal::KILL));
        }
        left.is_empty().then_some(())
    });
    ended.ok_or(ContainerError::StillRunning(left))
}

/// The total of all processes.
pub(super) fn usage(marker: &str) -> Usage {
    let mut usage = Usage {
        pids: find(marker),
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

/// User and kernel time: fields 14 and 15 of `/proc/PID/stat`, see proc(5). The
/// process name may contain spaces, so the fields after it are counted.
fn ticks(pid: u32) -> Option<(u64, u64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, numbers) = stat.rsplit_once(") ")?;
    let mut numbers = numbers.split(' ').skip(11);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Parses a line such as `RssAnon:   1234 kB`.
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
    fn processes_are_found_and_killed_by_marker() {
        let name = format!("CASEMENT_TEST_{}", std::process::id());
        let mut child = Command::new("sleep")
            .arg("600")
            .env(&name, "1")
            .spawn()
            .unwrap();
        let marker = format!("{name}=1");
        wait::until(KILL_TIMEOUT, || {
            (find(&marker) == [child.id()]).then_some(())
        })
        .unwrap();
        assert_eq!(usage(&marker).pids, [child.id()]);

        // A zombie has no environment, so it need not be reaped first.
        kill(&marker).unwrap();
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn status_values_are_converted_to_bytes() {
        assert_eq!(
            bytes("Name:\tx\nRssAnon:\t      12 kB\n", "RssAnon:"),
            12 * 1024
        );
        assert_eq!(bytes("Name:\tx\n", "RssAnon:"), 0);
    }
}
