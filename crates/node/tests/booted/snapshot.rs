//! Snapshots of a host and their differences.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use casement_resource::Sha256;

use crate::machine::Machine;

/// Paths that may differ for reasons other than casement, one per line.
const MAY_DIFFER: &str = include_str!("may-differ.txt");

/// Whether modification times are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    Compared,
    Ignored,
}

/// Mode, owner and content of every file below a root.
pub struct Files(BTreeMap<String, String>);

impl Files {
    pub fn below(root: &Path, times: Times) -> Self {
        let mut files = BTreeMap::new();
        collect(root, root, times, &mut files);
        Self(files)
    }

    pub fn assert_same(&self, after: &Self, what: &str) {
        let differences = differences(&self.0, &after.0);
        assert!(
            differences.is_empty(),
            "{what} changed\n{}",
            differences.join("\n")
        );
    }
}

fn collect(root: &Path, folder: &Path, times: Times, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap();
        let name = String::from_utf8_lossy(name.as_os_str().as_bytes()).into_owned();
        if may_differ(&name) {
            continue;
        }
        let found = fs::symlink_metadata(&path).unwrap();
        let mut line = format!("{:o} {}:{}", found.mode(), found.uid(), found.gid());
        if found.is_symlink() {
            line += &format!(" -> {}", fs::read_link(&path).unwrap().display());
        } else if found.is_file() {
            line += &format!(" {}", Sha256::of(&fs::read(&path).unwrap()));
        }
        if times == Times::Compared {
            line += &format!(" at {}.{:09}", found.mtime(), found.mtime_nsec());
        }
        files.insert(name, line);
        if found.is_dir() {
            collect(root, &path, times, files);
        }
    }
}

fn may_differ(path: &str) -> bool {
    MAY_DIFFER.lines().any(|line| match line.strip_suffix('*') {
        Some(start) => path.starts_with(start),
        None => path == line,
    })
}

/// Everything on a host that casement could change.
pub struct Snapshot {
    files: Files,
    /// Output lines of system commands.
    output: BTreeMap<String, String>,
}

/// Titles and commands; the order of output lines is ignored. The queue discipline of a
/// link only tells whether it was ever up, and loaded inactive units are only in the
/// memory of systemd.
const COMMANDS: [(&str, &str); 7] = [
    ("unit files", "systemctl list-unit-files --no-legend --full"),
    (
        "active units",
        "systemctl list-units --state=active,activating,failed --plain --no-legend --full \
         --type=service,target,socket,mount | awk '{print $1, $2, $3, $4}'",
    ),
    (
        "packages",
        "dpkg-query --show --showformat '${Package} ${Version} ${Status}\\n'",
    ),
    (
        "links",
        "ip -details -oneline link show | sed 's/^[0-9]*: //; s/ qdisc [a-z]*//; s/_timer *[0-9.]*//g'",
    ),
    (
        "addresses",
        "ip -oneline address show | sed 's/^[0-9]*: //'",
    ),
    (
        "routes",
        "ip route show table all; ip -6 route show table all",
    ),
    ("sysctls", "grep -rsv '^$' /proc/sys/net"),
];

impl Snapshot {
    pub fn of(machine: &Machine) -> Self {
        settle(machine);
        let mut output = BTreeMap::new();
        for (title, command) in COMMANDS {
            // `grep` fails for unreadable values.
            let text = machine.inside(&["sh", "-c", &format!("{command} || true")]);
            assert!(!text.is_empty(), "{title}");
            for line in text.lines() {
                output.insert(format!("{title}: {line}"), String::new());
            }
        }
        Self {
            files: Files::below(machine.root(), Times::Ignored),
            output,
        }
    }

    pub fn assert_same(&self, after: &Self) {
        assert!(MAY_DIFFER.lines().count() <= 10, "too many exceptions");
        let mut all = differences(&self.files.0, &after.files.0);
        all.extend(differences(&self.output, &after.output));
        assert!(all.is_empty(), "{}", all.join("\n"));
    }
}

/// Waits for duplicate address detection of link-local addresses, about a second.
fn settle(machine: &Machine) {
    let wait = "for i in $(seq 100); do [ -z \"$(ip -6 address show tentative)\" ] && break; \
                sleep 0.1; done; ip -6 address show tentative";
    assert_eq!(machine.inside(&["sh", "-c", wait]), "");
}

fn differences(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    let changed = before
        .iter()
        .filter_map(|(name, was)| match after.get(name) {
            None => Some(format!("- {name} {was}")),
            Some(is) if is != was => Some(format!("~ {name} {was} => {is}")),
            Some(_) => None,
        });
    let new = after.iter().filter(|(name, _)| !before.contains_key(*name));
    let new = new.map(|(name, is)| format!("+ {name} {is}"));
    changed.chain(new).collect()
}
