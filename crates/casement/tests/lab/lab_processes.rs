//! The processes of a lab, and of no other program on the machine.
//!
//! A lab is known by the name of its state folder, which is random. A process belongs to it if
//! its arguments, its environment or its mounts name that folder, or if it shares a network
//! namespace with such a process: sshd and the containers of a lab start programs with an
//! environment of their own, but no program leaves the namespaces of its host.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LabProcess {
    pub pid: u32,
    /// Arguments, separated by spaces.
    pub line: String,
}

/// `state` is the folder that `XDG_STATE_HOME` is set to for the lab.
pub fn of(state: &Path) -> BTreeSet<LabProcess> {
    let marker = state.file_name().unwrap().as_encoded_bytes();
    let pids: Vec<u32> = processes().collect();
    let named: BTreeSet<u32> = pids
        .iter()
        .copied()
        .filter(|pid| names(*pid, marker))
        .collect();
    let own = namespace(std::process::id(), "net");
    let namespaces = named.iter().filter_map(|pid| namespace(*pid, "net"));
    // Some programs of a lab run in the network of the machine.
    let namespaces: BTreeSet<PathBuf> = namespaces.filter(|it| Some(it) != own.as_ref()).collect();
    let shares = |pid: u32| namespace(pid, "net").is_some_and(|it| namespaces.contains(&it));
    let found = pids
        .into_iter()
        .filter(|pid| named.contains(pid) || shares(*pid));
    found
        .map(|pid| LabProcess {
            pid,
            line: String::from_utf8_lossy(&read(pid, "cmdline")).replace('\0', " "),
        })
        .collect()
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn names(pid: u32, marker: &[u8]) -> bool {
    let contains = |file: &str| {
        let bytes = read(pid, file);
        bytes.windows(marker.len()).any(|window| window == marker)
    };
    // All programs of the machine see its mounts.
    let has_own_mounts = namespace(pid, "mnt") != namespace(std::process::id(), "mnt");
    contains("cmdline") || contains("environ") || has_own_mounts && contains("mountinfo")
}

/// Empty for a process that has ended, or that belongs to another user.
fn read(pid: u32, file: &str) -> Vec<u8> {
    fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default()
}

fn namespace(pid: u32, kind: &str) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/ns/{kind}")).ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command};

    use super::*;
    use crate::lab_fixture::eventually;

    /// Killed on drop.
    struct Sleeper(Child);

    impl Sleeper {
        fn start(command: &mut Command) -> Self {
            let sleeper = Self(command.arg("300").spawn().unwrap());
            // `spawn` may return a moment before the arguments are visible.
            eventually("the arguments of sleep", 10, || {
                let line = read(sleeper.0.id(), "cmdline");
                line.ends_with(b"\x00300\0").then_some(())
            });
            sleeper
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn foreign_program_with_the_name_of_a_lab_program_is_not_of_the_lab() {
        let state = tempfile::tempdir().unwrap();
        let _foreign = Sleeper::start(Command::new("sleep").arg0("kube-foo"));
        assert_eq!(of(state.path()), BTreeSet::new());
    }

    #[test]
    fn process_that_names_the_state_folder_is_of_the_lab() {
        let (state, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let by_environment =
            Sleeper::start(Command::new("sleep").env("XDG_STATE_HOME", state.path()));
        let by_name = state.path().join("casement/lab/one/wineserver");
        let by_argument = Sleeper::start(Command::new("sleep").env_clear().arg0(by_name));
        let _of_other = Sleeper::start(Command::new("sleep").env("XDG_STATE_HOME", other.path()));
        let found: BTreeSet<u32> = of(state.path()).iter().map(|it| it.pid).collect();
        assert_eq!(found, [by_environment.0.id(), by_argument.0.id()].into());
    }
}
