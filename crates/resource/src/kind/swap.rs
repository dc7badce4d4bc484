//! `swap`: turns swap off, now and after a boot.
//!
//! Swap entries in fstab(5) are commented out with casement's marker, which is enough to
//! restore them, whatever else changes in the file. Other swap areas (a partition that
//! systemd finds by its type, zram) are off until the next boot; their unit can be
//! masked with a `systemdUnit`.

use serde::{Deserialize, Serialize};

use crate::{Change, Diff, HostPath};

/// The kubelet does not start with swap on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SwapOff {}

/// A swap area.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SwapArea {
    /// The file or device.
    pub path: HostPath,
    /// Negative if chosen by the kernel.
    pub priority: i32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SwapFacts {
    pub areas: Vec<SwapArea>,
    /// The text of fstab; none if it does not exist.
    pub table: Option<String>,
}

/// Prefix of a line that was commented out.
const MARK: &str = "#casement-swap-off# ";

impl SwapOff {
    #[must_use]
    pub fn diff(&self, facts: &SwapFacts) -> Diff {
        let areas = facts.areas.iter();
        let mut changes: Vec<Change> = areas
            .map(|area| Change::field("swap", format!("on `{}`", area.path), "off"))
            .collect();
        let lines = facts.table.iter().flat_map(|table| table.lines());
        for line in lines.filter(|line| is_swap_entry(line)) {
            changes.push(Change::field("fstab", line, "commented out"));
        }
        Diff::from_changes(changes, || "off, and no entry in fstab".to_owned())
    }

    /// Comments out the swap entries.
    #[must_use]
    pub fn disable_entries(table: &str) -> String {
        map_lines(table, |line| {
            let mark = if is_swap_entry(line) { MARK } else { "" };
            format!("{mark}{line}")
        })
    }

    /// Undoes [`disable_entries`](Self::disable_entries).
    #[must_use]
    pub fn restore_entries(table: &str) -> String {
        map_lines(table, |line| {
            line.strip_prefix(MARK).unwrap_or(line).to_owned()
        })
    }
}

/// Keeps all other lines and the final line ending.
fn map_lines(table: &str, map: impl Fn(&str) -> String) -> String {
    let lines: Vec<String> = table.split('\n').map(map).collect();
    lines.join("\n")
}

/// The third field of an fstab line is the type.
fn is_swap_entry(line: &str) -> bool {
    !line.trim_start().starts_with('#') && line.split_whitespace().nth(2) == Some("swap")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
# <file system> <mount point> <type> swap
UUID=1 / ext4 errors=remount-ro 0 1
/swapfile\tnone\tswap\tsw 0 0
  /dev/sda2 none swap sw,pri=5 0 0
# /old none swap sw 0 0
LABEL=swap /swap ext4 defaults 0 0";

    #[test]
    fn swap_entries_are_commented_out_and_restored() {
        let out = SwapOff::disable_entries(TABLE);
        assert!(
            out.contains("\n#casement-swap-off# /swapfile\tnone"),
            "{out}"
        );
        assert_eq!(out.matches(MARK).count(), 2);
        assert_eq!(SwapOff::disable_entries(&out), out);
        assert_eq!(SwapOff::restore_entries(&out), TABLE);
        assert_eq!(SwapOff::restore_entries(TABLE), TABLE);
    }

    #[test]
    fn active_and_configured_swap_are_changes() {
        let mut facts = SwapFacts {
            areas: vec![SwapArea {
                path: "/swapfile".parse().unwrap(),
                priority: -2,
            }],
            table: Some(TABLE.to_owned()),
        };
        let Diff::Changes(changes) = (SwapOff {}).diff(&facts) else {
            panic!("swap was not detected");
        };
        assert_eq!(changes.len(), 3);
        assert_eq!(changes[0].to_string(), "swap: on `/swapfile` → off");
        facts.areas.clear();
        facts.table = Some(SwapOff::disable_entries(TABLE));
        assert!((SwapOff {}).diff(&facts).in_sync());
        facts.table = None;
        assert!((SwapOff {}).diff(&facts).in_sync());
    }
}
